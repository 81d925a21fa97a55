import type { CompletionPlace, CompletionWord } from './words.ts'

/** The completion script for zsh; works as a file `_weir` of `$fpath` and when it is sourced. */
export function zshCompletion(places: readonly CompletionPlace[]): string {
  const paths = places.filter(({ path }) => path !== '')
  return `#compdef weir
# zsh completion of weir. Install: weir completion zsh > "\${fpath[1]}/_weir"
_weir() {
  local command='' candidate i
  local -a verbs flags
  for ((i = 2; i < CURRENT; i++)); do
    candidate="\${command:+$command }$words[i]"
    case $candidate in
      (${paths.map(({ path }) => path.replaceAll(' ', '\\ ')).join('|')}) command=$candidate ;;
      (*) break ;;
    esac
  done
  case $command in
${places.map(caseOf).join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option flags
  elif (( $#verbs )); then
    _describe command verbs
  else
    _files
  fi
}
if [[ $funcstack[1] == _weir ]]; then _weir "$@"; else compdef _weir weir; fi
`
}

function caseOf({ path, words, flags }: CompletionPlace): string {
  return `    (${quoted(path)}) verbs=(${list(words)}); flags=(${list(flags)}) ;;`
}

/** Words as `_describe` takes them: `word:help`. */
function list(words: readonly CompletionWord[]): string {
  return words.map(({ word, help }) => quoted(`${word}:${help.replaceAll(':', '\\:')}`)).join(' ')
}

/** A word in single quotes; a quote inside ends them for a moment. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
