# SPDX-License-Identifier: GPL-2.0
"""One-line changes of C code that a test should find."""

import re
from collections import Counter


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    """The text with comments, strings and preprocessor lines blanked, in place."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
    text = re.sub(pattern, blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, text, flags=re.M)


def functions_of(code):
    """(name, begin, end) of each body: braces in the first column, after a ')'."""
    for body in re.finditer(r"^\{\n.*?^\}", code, flags=re.M | re.S):
        head = code[:body.start()].rstrip()
        if not head.endswith(")"):
            continue
        start = max(head.rfind("\n\n"), head.rfind("}\n"), head.rfind(";\n"))
        name = re.search(r"(\w+)\s*\(", head[start + 1:])
        yield name.group(1) if name else "?", body.start(), body.end()


def closing(code, at):
    """The position after the parenthesis that closes the one at @at."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == "(") - (code[i] == ")")
        if not depth:
            return i + 1
    return len(code)


STATEMENT = re.compile(
    r"^[ \t]*(?:\*+\(?)?(?!(?:return|if|for|while|switch|else|do|goto|case|default|sizeof)\b)"
    r"[A-Za-z_]\w*(?:->\w+|\.\w+|\[[^]\n]*\]|\))*[ \t]*"
    r"(?:\(|[-+|&^*/]?=[^=]|<<=|>>=|\+\+;|--;)", re.M)
LABEL = re.compile(r"^\s*(?:case\b[^?\n]*|default|\w+):$", re.M)
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
WEAKER = {"smp_load_acquire(": "READ_ONCE(*", "smp_store_release(": "WRITE_ONCE(*",
          "atomic_long_read_acquire(": "atomic_long_read(",
          "atomic_long_set_release(": "atomic_long_set(",
          "atomic_read_acquire(": "atomic_read(", "atomic_set_release(": "atomic_set("}


def conditions(code, begin, end):
    for match in re.compile(r"\b(?:if|while) \(").finditer(code, begin, end):
        inner, stop = match.end(), closing(code, match.end() - 1) - 1
        if not re.match(r"\s*[01]\s*$", code[inner:stop]):
            yield "negate", inner, stop, lambda old: f"!({old})"


def operators(code, begin, end):
    for match in re.compile(r"&&|\|\|").finditer(code, begin, end):
        new = "||" if match.group() == "&&" else "&&"
        yield "logic", match.start(), match.end(), lambda old, new=new: new
    for match in re.compile(r"(?<=\s)(?:[<>]=?|[=!]=)(?=\s)").finditer(code, begin, end):
        new = RELATIONS[match.group()]
        yield "relation", match.start(), match.end(), lambda old, new=new: new
    for match in re.compile(r"(?<=[\w)\]] )[-+](?= [\w(])").finditer(code, begin, end):
        new = "-" if match.group() == "+" else "+"
        yield "sign", match.start(), match.end(), lambda old, new=new: new


def values(code, begin, end):
    for match in re.compile(r"(?<![\w.])\d+(?=[uUlL]*\b)(?![\w.])").finditer(code, begin, end):
        new = str(int(match.group(), 8 if match.group().startswith("0") else 10) + 1)
        yield "number", match.start(), match.end(), lambda old, new=new: new
    for match in re.compile(r"(?<=\breturn )-E[A-Z]+(?=;)").finditer(code, begin, end):
        yield "error", match.start(), match.end(), lambda old: "0"
    for match in re.compile(r"\b(?:true|false)\b").finditer(code, begin, end):
        new = "false" if match.group() == "true" else "true"
        yield "truth", match.start(), match.end(), lambda old, new=new: new
    for match in re.compile("|".join(rf"\b{re.escape(name)}" for name in WEAKER)).finditer(
            code, begin, end):
        yield "order", match.start(), match.end(), lambda old: WEAKER[old]


def statements(code, begin, end):
    for match in STATEMENT.finditer(code, begin, end):
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        before = code[begin:start].rstrip()
        if not before.endswith((";", "{", "}", ")", "else", "do")) and not LABEL.search(before):
            continue
        stop = code.find(";", start)
        while 0 <= stop < end and code.count("(", start, stop) != code.count(")", start, stop):
            stop = code.find(";", stop + 1)
        if 0 <= stop < end and "{" not in code[start:stop]:
            yield "delete", start, stop, lambda old: "/**/" + "\n" * old.count("\n")
    for match in re.compile(r"\b(?:break|continue|return);").finditer(code, begin, end):
        yield "delete", match.start(), match.end() - 1, lambda old: "/**/"


class Mutant:
    """One change: @text[@start:@stop] of the file @path becomes @new."""

    def __init__(self, target, path, function, rule, text, start, stop, new):
        self.target, self.path, self.text = target, path, text
        self.start, self.stop, self.new, self.rule = start, stop, new, rule
        self.number = None
        self.line = text.count("\n", 0, start) + 1
        before = text.rfind("\n", 0, start) + 1
        after = text.find("\n", stop)
        was = " ".join(text[before:after].split())
        place = " ".join(text[before:start].split())
        # The old line and the place in it, so that other changes of the file don't matter
        self.key = f"{path} {function}: {rule} {len(place)}: {was}"

    def content(self):
        return self.text[:self.start] + self.new + self.text[self.stop:]


def mutants_of_file(target, path, text):
    code = code_of(text)
    keys = Counter()
    for function, begin, end in functions_of(code):
        found = []
        for rule in (conditions, operators, values, statements):
            found += rule(code, begin, end)
        for rule, start, stop, change in sorted(found, key=lambda m: m[1:3]):
            mutant = Mutant(target, path, function, rule, text, start, stop,
                            change(text[start:stop]))
            keys[mutant.key] += 1
            if keys[mutant.key] > 1:
                mutant.key += f" ({keys[mutant.key]})"
            yield mutant
