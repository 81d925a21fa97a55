import type { CompletionPlace } from './words.ts'

/** The completion script for bash 4 and newer. */
export function bashCompletion(places: readonly CompletionPlace[]): string {
  const paths = places.filter(({ path }) => path !== '')
  const withoutFiles = flagsWith(places, 'text')
  return `# bash completion of weir. Install: weir completion bash > /etc/bash_completion.d/weir
_weir() {
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

function caseOf({ path, words, flags }: CompletionPlace): string {
  const all = [...words, ...flags].map(({ word }) => word)
  return `    ${quoted(path)}) words=${quoted(all.join(' '))} ;;`
}

/** The flags that take such a value in every command that has them. */
function flagsWith(
  places: readonly CompletionPlace[],
  value: 'file' | 'text',
): ReadonlySet<string> {
  const flags = places.flatMap((place) => place.flags)
  const found = flags.filter((flag) => flag.value === value).map(({ word }) => word)
  const others = new Set(flags.filter((flag) => flag.value !== value).map(({ word }) => word))
  return new Set(found.filter((word) => !others.has(word)))
}

function quoted(text: string): string {
  return `'${text}'`
}
