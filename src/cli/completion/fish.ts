import { type CompletionFlag, type CompletionPlace, configurationNames } from './words.ts'

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

function linesOf({ path, words, flags, argument }: CompletionPlace): readonly string[] {
  const at = `complete -c weir -n ${quoted(`__weir_at "${path}"`)}`
  return [
    ...(argument === undefined ? [] : [`${at} -f -a ${quoted(namesOf(argument))}`]),
    ...words.map(({ word, help }) => `${at} -f -a ${word} -d ${quoted(help)}`),
    ...flags.map(
      (flag) =>
        `${at} -l ${flag.word.slice(2)}${letterOf(flag)}${argumentOf(flag)} -d ${quoted(flag.help)}`,
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
    case 'topics':
      return ` -x -a ${quoted(namesOf('topics'))}`
    case 'keys':
      return ` -x -a ${quoted(
        configurationNames()
          .map((key) => `${key}=`)
          .join(' '),
      )}`
  }
}

function letterOf({ short }: CompletionFlag): string {
  return short === undefined ? '' : ` -s ${short}`
}

/** What asks for names: the words of the command line say where they are. */
function namesOf(names: 'jobs' | 'topics'): string {
  return `(weir completion ${names} -- (commandline -opc)[2..] 2>/dev/null)`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
