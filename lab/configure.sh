# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154  # of lab/lib.sh: linux CC; of who sources this: what obj log fragments
# Configures the kernel tree in $linux, to be built in $obj; sourced after lab/lib.sh,
# never run.
#
#   what       what is built, for messages: "kernel default"
#   obj        the build directory
#   log        the build's log; that of the configuration is beside it
#   fragments  configuration files; each one goes over those before it

# An empty LOCALVERSION keeps git from adding a "+" to the release.
kmake() {
	nice make -C "$linux" O="$obj" ARCH=x86_64 LOCALVERSION= CC="$CC" -j"${JOBS:-$(nproc)}" "$@"
}

# Such as 6.1
base_version() {
	sed -n 's/^VERSION = //p; s/^PATCHLEVEL = /./p' "$linux/Makefile" | tr -d '\n'
}

# configure TARGET - merge_config.sh leaves its temporary files in the working directory.
configure() {
	cd -- "$obj"
	KCONFIG_CONFIG=$obj/merged.config \
		"$linux/scripts/kconfig/merge_config.sh" -m "${fragments[@]}"
	kmake KCONFIG_ALLCONFIG="$obj/merged.config" "$1"
}

# Print each line of the merged request that .config doesn't fulfil. An option
# that a dependency hides altogether counts as not set.
lost_options() {
	awk 'NR == FNR { has[$0]; sub(/=.*/, ""); set[$0]; next }
		/^# CONFIG_[^ ]* is not set/ { $0 = $2 "=n" }
		/^CONFIG_.*=n$/ { if (substr($0, 1, length - 2) in set) print; next }
		/^CONFIG_.*=/ && !($0 in has)' "$obj/.config" "$obj/merged.config"
}

# What the configuration depends on: the fragments and the tree's Kconfig files.
request() {
	cat -- "${fragments[@]}"
	find "$linux" -name 'Kconfig*' -type f -print0 | sort -z | xargs -0 cat | cksum
}

# configure_if_changed TARGET - make's TARGET decides what no fragment says: allnoconfig,
# alldefconfig. make compares only time stamps: keep the old .config while the request is
# the same, or every run would rebuild what depends on it.
configure_if_changed() {
	local lost
	mkdir -p -- "$obj" "$logs"
	request >"$obj/request.new"
	[[ ! -f $obj/.config ]] || ! cmp -s "$obj/request" "$obj/request.new" || return 0
	step "$what: configuration" "${log%.log}-config.log" configure "$1"
	lost=$(lost_options)
	if [[ $lost ]]; then
		printf '%s: requested options that were lost:\n%s\n' "$what" "$lost" >&2
		rm -f -- "$obj/.config" "$obj/request"
		exit 1
	fi
	mv -- "$obj/request.new" "$obj/request"
}
