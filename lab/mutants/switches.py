# SPDX-License-Identifier: GPL-2.0
"""All changes of a file in one source: mutant_is(N) selects one of them at run time."""

import re

from changes import LABEL, closing, code_of, functions_of

PARENTHESES = re.compile(r"\b(if|while|for|switch) \(")
DECLARATION = re.compile(r"(?:(?:const|struct|unsigned|static|enum) )*\w+ \**\w+ = ")


def heads_of(code, begin, end):
    """(keyword, begin, end) of the text in the parentheses of if, while, for and switch."""
    return [(match.group(1), match.end(), closing(code, match.end() - 1) - 1)
            for match in PARENTHESES.finditer(code, begin, end)]


def statement_of(code, at, begin, heads):
    """The positions of the begin and of the final semicolon of the statement around @at."""
    ends = {stop for _, _, stop in heads}
    first = at
    while first > begin and code[first - 1] not in ";{}" and first - 1 not in ends:
        if LABEL.match(code[code.rfind("\n", 0, first) + 1:first]):
            break
        first -= 1
    first += re.match(r"\s*(?:(?:else|do)\b\s*)?", code[first:at]).end()
    return first, code.find(";", at)


def has_comma(text):
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            return True
    return False


def unit_of(mutant, code, begin, heads):
    """The code that has to be there twice, for a choice at run time: ("condition", "value" or
    "statement", begin, end); or None if there can be no choice."""
    for keyword, first, stop in heads:
        if first <= mutant.start and mutant.stop <= stop:
            return None if keyword == "for" else ("condition", first, stop)
    first, stop = statement_of(code, mutant.start, begin, heads)
    text = code[first:stop]
    declaration = DECLARATION.match(text)
    if declaration:
        first += declaration.end()
    elif text.startswith("return ") and mutant.rule != "delete":
        first += len("return ")
    elif text.startswith(("case ", "for ")):
        return None
    else:
        return "statement", first, stop + 1
    if code[first] == "{" or has_comma(code[first:stop]):
        return None
    return "value", first, stop


def choice(kind, old, alternatives):
    """alternatives: a list of (number, text)"""
    if kind == "statement":
        cases = "".join(f"if (mutant_is({number})) {{ {text} }} else "
                        for number, text in alternatives)
        return f"{{ {cases}{{ {old} }} }}"
    truth = "!!" if kind == "condition" else ""
    cases = "".join(f"mutant_is({number}) ? {truth}({text}) : "
                    for number, text in alternatives)
    return f"({cases}{truth}({old}))"


def with_switches(text, mutants, name):
    """The source with all @mutants that can be chosen at run time, and the list of those. Each
    gets the number by which the kernel parameter @name chooses it."""
    code = code_of(text)
    units = {}
    bodies = list(functions_of(code))
    for number, mutant in enumerate(mutants, 1):
        begin, end = next((b, e) for _, b, e in bodies if b <= mutant.start < e)
        unit = unit_of(mutant, code, begin + 1, heads_of(code, begin, end))
        if unit:
            mutant.number = number
            units.setdefault(unit, []).append(mutant)
    for (kind, first, stop), changes in sorted(units.items(), key=lambda u: -u[0][1]):
        alternatives = [(mutant.number, mutant.text[first:mutant.start] + mutant.new +
                         mutant.text[mutant.stop:stop]) for mutant in changes]
        text = text[:first] + choice(kind, text[first:stop], alternatives) + text[stop:]
    includes = list(re.finditer(r"^#include .*\n", text, re.M))[-1].end()
    return text[:includes] + f"""#include <linux/moduleparam.h>
static int mutant;
core_param({name}, mutant, int, 0444);
#define mutant_is(number) unlikely(mutant == (number))
""" + text[includes:], [mutant for mutant in mutants if mutant.number]
