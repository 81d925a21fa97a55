import { type CompletionPlace, type CompletionWord, configurationNames } from './words.ts'

/** The completion script for zsh; works as a file `_weir` of `$fpath` and when it is sourced. */
export function zshCompletion(places: readonly CompletionPlace[]): string {
  const paths = places.filter(({ path }) => path !== '')
  return `#compdef weir
# zsh completion of weir. Install: weir completion zsh > "\${fpath[1]}/_weir"
_weir() {
  local command='' candidate names='' i
  local -a verbs flags found here
  here=("\${(@)words[2,CURRENT-1]}")
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
  case $words[CURRENT-1] in
    (${flagsOf(places, 'keys').join('|')})
      found=(${configurationNames().join(' ')})
      compadd -q -S = -a found
      return ;;
    (${flagsOf(places, 'topics').join('|')}) names=topics ;;
  esac
  if [[ -n $names && $PREFIX != -* ]]; then
    found=("\${(@f)$(weir completion $names -- $here 2> /dev/null)}")
    compadd -a found
  elif [[ $PREFIX == -* ]]; then
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

function caseOf({ path, words, flags, argument }: CompletionPlace): string {
  return `    (${quoted(path)}) verbs=(${list(words)}); flags=(${list(flags)}); names=${quoted(argument ?? '')} ;;`
}

/** The flags that take such a value, by their names and letters. */
function flagsOf(places: readonly CompletionPlace[], value: 'keys' | 'topics'): readonly string[] {
  const flags = places.flatMap((place) => place.flags).filter((flag) => flag.value === value)
  const words = flags.flatMap(({ word, short }) =>
    short === undefined ? [word] : [word, `-${short}`],
  )
  return [...new Set(words)]
}

/** Words as `_describe` takes them: `word:help`. */
function list(words: readonly CompletionWord[]): string {
  return words.map(({ word, help }) => quoted(`${word}:${help.replaceAll(':', '\\:')}`)).join(' ')
}

/** A word in single quotes; a quote inside ends them for a moment. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
