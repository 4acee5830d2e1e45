# SPDX-License-Identifier: Apache-2.0
# What documents say about options, from `translate --rows`. POSIX awk.
#   -v mode=man -v tool=sbatch   option list for scdoc
#   -v mode=support              docs/support.md
#   -v mode=completion           completion for bash
# A row: tool, name, letter, argument, variables, metavar, fate, engine's words, help, note, hidden.

BEGIN {
	FS = "\t"
	if (mode == "support")
		print_support_head()
	if (mode == "completion")
		print_completion_head()
}

mode == "man" && $1 == tool { print_man() }
mode == "support" && $1 != "slurm-on-ocs" { print_support() }
mode == "completion" { collect_words() }

END {
	if (mode == "completion")
		print_completion()
}

# scdoc takes * and _ for emphasis.
function scd(s) {
	gsub(/[\\_*]/, "\\\\&", s)
	return s
}

# A cell of a Markdown table.
function md(s) {
	gsub(/[|]/, "\\|", s)
	gsub(/[<]/, "\\&lt;", s)
	gsub(/[*]/, "\\*", s)
	return s
}

function code(s) {
	gsub(/[|]/, "\\|", s)
	return s == "" ? "" : "`" s "`"
}

function sentence(s) {
	if (s == "")
		return ""
	return toupper(substr(s, 1, 1)) substr(s, 2) (s ~ /[.!?]$/ ? "" : ".")
}

function argument(bold_open, bold_close) {
	if ($4 == "required")
		return "=" bold_open $6 bold_close
	if ($4 == "optional")
		return "[=" bold_open $6 bold_close "]"
	return ""
}

function print_man(   line, names) {
	if (!headed++ && tool != "slurm-on-ocs") {
		print "An option that is _refused_ is an error, and nothing is done. One that is _ignored_ or _approximated_"
		print "is taken, with a warning once."
		print ""
	}
	line = $3 == "" ? "" : "*-" $3 "*, "
	line = line "*--" $2 "*"
	if ($4 == "required")
		line = line "=_" scd($6) "_"
	else if ($4 == "optional")
		line = line "[=_" scd($6) "_]"
	print line
	line = sentence($9)
	if ($7 != "MAPPED")
		line = line " " sentence(tolower($7) ": " $10)
	else if ($10 != "")
		line = line " " sentence($10)
	if ($8 ~ /^\(/)
		line = line " " sentence(inner($8))
	else if ($8 != "")
		line = line " To the engine: " $8 "."
	if ($5 != "") {
		names = $5
		gsub(/ /, ", ", names)
		line = line (names ~ /,/ ? " Variables: " : " Variable: ") names "."
	}
	print "\t" scd(line)
	print ""
}

# Words in parentheses instead of the engine's: who does it.
function inner(s) {
	return substr(s, 2, length(s) - 2)
}

function print_support_head() {
	print "# Which options do what"
	print ""
	print "Made from the option tables (`make docs/support.md`); `make check` fails when it is out of date."
	print ""
	print "* **mapped**: does what it does in Slurm."
	print "* **approximated**: nearly; a warning says what differs."
	print "* **ignored**: changes nothing in the result; a warning says why."
	print "* **refused**: an error, and nothing is submitted or run."
	print ""
	print "An option that isn't here is unknown to Slurm 22.05 too: an error."
}

function print_support() {
	if ($1 != last) {
		print "\n## " $1 "\n"
		print "| option | variables | fate | what it becomes |"
		print "| --- | --- | --- | --- |"
		last = $1
	}
	names = ($3 == "" ? "" : "-" $3 ", ") "--" $2 argument("", "")
	what = md($9)
	if ($8 ~ /^\(/)
		what = what "; " md(inner($8))
	else if ($8 != "")
		what = what ": " code($8)
	if ($10 != "")
		what = what ". " md(sentence($10))
	print "| " code(names) " | " ($5 == "" ? "" : code($5)) " | " tolower($7) " | " what " |"
}

# --- bash completion ---
function print_completion_head() {
	print "# bash completion of Slurm's commands, made from the option tables of slurm-on-ocs."
	print ""
}

function collect_words() {
	if (!($1 in words))
		order[++ntools] = $1
	if ($7 == "REFUSED" || $11 == "hidden")
		return
	words[$1] = words[$1] " --" $2 ($4 == "required" ? "=" : "")
}

function print_completion(   i) {
	print "_slurm_on_ocs()"
	print "{"
	print "\tlocal words="
	print "\tcase ${1##*/} in"
	for (i = 1; i <= ntools; i++)
		print "\t" order[i] ") words='" substr(words[order[i]], 2) "' ;;"
	print "\tesac"
	print "\tif [[ $2 == -* ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$2\")"
	print "\t\t[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace"
	print "\telse"
	print "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$2\")"
	print "\tfi"
	print "}"
	for (i = 1; i <= ntools; i++)
		print "complete -o filenames -F _slurm_on_ocs " order[i]
}
