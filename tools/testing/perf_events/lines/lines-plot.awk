# SPDX-License-Identifier: GPL-2.0
#
# Draws an SVG of the table that lines prints, with a panel for each size of
# records. Both axes are logarithmic.

BEGIN {
	FS = ","
	WIDTH = 300; HEIGHT = 280; LEFT = 60; TOP = 40; GAP = 60
	CPUS_LOG2 = 10		# 2 to 1024
	LOW = -3; HIGH = 4	# powers of 10
	split("gray firebrick royalblue firebrick royalblue", colour, " ")
}

function log_of(value, base) { return log(value) / log(base) }
function x_of(cpus) { return left + (log_of(cpus, 2) - 1) / (CPUS_LOG2 - 1) * WIDTH }
function y_of(count) { return TOP + (HIGH - log_of(count, 10)) / (HIGH - LOW) * HEIGHT }

function text(x, y, anchor, string)
{
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, string
}

function line(x1, y1, x2, y2, stroke)
{
	printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
		x1, y1, x2, y2, stroke
}

# The last two are without pause.
function style(i)
{
	return "stroke=\"" colour[i] "\" stroke-width=\"2\"" \
		(i > 3 ? " stroke-dasharray=\"6 4\"" : "")
}

function axes(size,	i)
{
	for (i = 1; i <= CPUS_LOG2; i++) {
		line(x_of(2 ^ i), TOP, x_of(2 ^ i), TOP + HEIGHT, "gainsboro")
		text(x_of(2 ^ i), TOP + HEIGHT + 18, "middle", 2 ^ i)
	}
	for (i = LOW; i <= HIGH; i++) {
		line(left, y_of(10 ^ i), left + WIDTH, y_of(10 ^ i), "gainsboro")
		text(left - 6, y_of(10 ^ i) + 4, "end", 10 ^ i)
	}
	text(left + WIDTH / 2, TOP - 16, "middle", "Lines per record of " size " bytes")
	text(left + WIDTH / 2, TOP + HEIGHT + 38, "middle", "CPUs")
}

function curve(size, i,		n, points)
{
	for (n = 1; n <= CPUS_LOG2; n++)
		if (count[size, 2 ^ n, i] != "")
			points = points sprintf(" %.1f,%.1f", x_of(2 ^ n),
						y_of(count[size, 2 ^ n, i]))
	printf "<polyline points=\"%s\" fill=\"none\" %s/>\n", substr(points, 2), style(i)
}

function key(i,		x, y)
{
	x = LEFT + (i - 1) % 3 * 230
	y = TOP + HEIGHT + 64 + (i > 3) * 22
	printf "<path d=\"M%d %d h30\" %s/>\n", x, y, style(i)
	text(x + 38, y + 4, "start", name[i])
}

FNR == 1 {
	for (i = 3; i <= NF; i++)
		name[i - 2] = $i
	schemes = NF - 2
	next
}

{
	if (!($2 in seen))
		sizes[++panels] = $2
	seen[$2]
	for (i = 1; i <= schemes; i++)
		count[$2, $1, i] = $(i + 2)
}

END {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ",
		panels * (LEFT + WIDTH) + 30, TOP + HEIGHT + 100
	print "font-family=\"sans-serif\" font-size=\"12\">"
	print "<!-- SPDX-License-Identifier: GPL-2.0 -->"
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	for (p = 1; p <= panels; p++) {
		left = LEFT + (p - 1) * (WIDTH + GAP)
		axes(sizes[p])
		for (i = 1; i <= schemes; i++)
			curve(sizes[p], i)
	}
	for (i = 1; i <= schemes; i++)
		key(i)
	print "</svg>"
}
