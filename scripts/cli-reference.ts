import { helpOf } from '../src/cli/command/help.ts'
import { COMMANDS } from '../src/cli/commands.ts'

/** The text of docs/reference/cli.md: the output of `weir COMMAND --help` for every command. */
export function cliReference(): string {
  const overview = COMMANDS.map(
    ({ name, summary }) => `| [\`${name}\`](#${anchor(name)}) | ${summary} |`,
  )
  const pages = COMMANDS.flatMap((command) => [
    `## ${command.name}`,
    '',
    '```',
    helpOf(command),
    '```',
    '',
  ])
  return [
    '# Command line',
    '',
    '`weir COMMAND [options]`; from a checkout `npm run weir -- COMMAND [options]`. The exit code is 0, 1',
    '(failed) or 2 (wrong usage). Results go to standard output, progress and errors to standard error;',
    'with `--json` every line of standard output is one JSON document. `WEIR_DEBUG=1` adds the stack of',
    'an error.',
    '',
    'Every flag is checked before a command starts: no port is opened and no file is made. The text of a flag says which',
    'values it takes, and which other flag it needs. A value that is not taken is refused with the nearest right one, by',
    'the name of the flag, of the `WEIR_` variable or of the line in `weir.yaml` that gave it. A flag comes once, unless it',
    'is repeatable. An address is HOST:PORT, or a port of this machine, in one flag that says whose it is:',
    '`--listen` opens the port of the command, `--job` asks the query port of a job, `--jobmanager` a REST interface.',
    '`--host` and `--port` still work in place of `--job` and `--listen`; `host` and `port` in `weir.yaml` count for both.',
    'A switch takes no value: `--no-` before its name turns it off, also against a setting.',
    '',
    '| command | does |',
    '|---|---|',
    ...overview,
    '',
    ...pages,
  ].join('\n')
}

const anchor = (name: string): string => name.replaceAll(' ', '-')
