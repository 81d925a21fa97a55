import type { CompletionFlag, CompletionPlace } from './words.ts'

/** The completion script for fish 3. */
export function fishCompletion(places: readonly CompletionPlace[]): string {
  const paths = places.filter(({ path }) => path !== '')
  return `# fish completion of weir. Install: weir completion fish > ~/.config/fish/completions/weir.fish
function __weir_at
    set -l command ''
    for word in (commandline -opc)[2..]
        set -l candidate (string trim -- "$command $word")
        contains -- $candidate ${paths.map(({ path }) => quoted(path)).join(' ')}; or break
        set command $candidate
    end
    test "$command" = "$argv[1]"
end
complete -c weir -n '__weir_at ""' -f
${places.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, words, flags }: CompletionPlace): readonly string[] {
  const at = `complete -c weir -n ${quoted(`__weir_at "${path}"`)}`
  return [
    ...words.map(({ word, help }) => `${at} -f -a ${word} -d ${quoted(help)}`),
    ...flags.map(
      (flag) => `${at} -l ${flag.word.slice(2)}${argumentOf(flag)} -d ${quoted(flag.help)}`,
    ),
  ]
}

function argumentOf({ value }: CompletionFlag): string {
  switch (value) {
    case 'none':
      return ''
    case 'file':
      return ' -r -F'
    case 'text':
      return ' -x'
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
