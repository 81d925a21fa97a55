import { type CompletionFlag, type CompletionPlace, configurationNames } from './words.ts'

/** The completion script for bash 4 and newer. */
export function bashCompletion(places: readonly CompletionPlace[]): string {
  const paths = places.filter(({ path }) => path !== '')
  const withoutFiles = flagsWith(places, 'text')
  return `# bash completion of weir. Install: weir completion bash > /etc/bash_completion.d/weir
_weir() {
  local here=("\${COMP_WORDS[@]:1:COMP_CWORD - 1}")
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local command='' candidate words i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    candidate="\${command:+$command }\${COMP_WORDS[i]}"
    case $candidate in
      ${paths.map(({ path }) => quoted(path)).join(' | ')}) command=$candidate ;;
      *) break ;;
    esac
  done
  case $previous in
    ${[...flagsWith(places, 'file')].join(' | ')}) return ;;
    ${[...flagsWith(places, 'topics')].join(' | ')})
      compopt +o default
      COMPREPLY=($(compgen -W "$(weir completion topics -- "\${here[@]}" 2> /dev/null)" -- "$current"))
      return ;;
    ${[...flagsWith(places, 'keys')].join(' | ')})
      compopt +o default -o nospace
      COMPREPLY=($(compgen -S = -W ${quoted(configurationNames().join(' '))} -- "$current"))
      return ;;
    ${[...withoutFiles].join(' | ')}) compopt +o default; return ;;
  esac
  case $command in
${places.map(caseOf).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _weir weir
`
}

function caseOf({ path, words, flags, argument }: CompletionPlace): string {
  const all = [...words, ...flags].map(({ word }) => word)
  const named =
    argument === undefined
      ? ''
      : `
      if [[ $current != -* ]]; then
        compopt +o default
        words=$(weir completion ${argument} -- "\${here[@]}" 2> /dev/null)
      fi`
  return `    ${quoted(path)}) words=${quoted(all.join(' '))}${named} ;;`
}

/** The flags that take such a value in every command that has them, by their names and letters. */
function flagsWith(
  places: readonly CompletionPlace[],
  value: CompletionFlag['value'],
): ReadonlySet<string> {
  const flags = places.flatMap((place) => place.flags)
  const wordsOf = ({ word, short }: CompletionFlag): readonly string[] =>
    short === undefined ? [word] : [word, `-${short}`]
  const found = flags.filter((flag) => flag.value === value).flatMap(wordsOf)
  const others = new Set(flags.filter((flag) => flag.value !== value).flatMap(wordsOf))
  return new Set(found.filter((word) => !others.has(word)))
}

function quoted(text: string): string {
  return `'${text}'`
}
