import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import type { Command } from '../command/command.ts'
import { bashCompletion } from '../completion/bash.ts'
import { fishCompletion } from '../completion/fish.ts'
import { NAMED, namesFor } from '../completion/names.ts'
import { completionPlaces } from '../completion/words.ts'
import { zshCompletion } from '../completion/zsh.ts'
import { anyText, word } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS } from '../flags/kafka.ts'

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** `weir completion`: prints the completion script of a shell. */
export const completionCommand: Command = {
  name: 'completion',
  summary: 'Print the script that completes commands and flags in bash, zsh or fish',
  positions: [
    { value: word([...Object.keys(SCRIPTS), ...NAMED], 'SHELL|jobs|topics') },
    { value: anyText('WORD'), isOptional: true, isRepeated: true },
  ],
  options: { ...JOB_MANAGER_CLIENT_OPTIONS, ...KAFKA_OPTIONS, ...DATA_DIR_OPTION },
  details: `SHELL is bash, zsh or fish. The script lists the commands and the configuration keys of this version; print it again
after an upgrade. For names of running jobs and of topics it asks "weir completion jobs" and "weir completion topics", with
the words that are typed behind --: their flags say where the JobManager and the topics are.

Example:
  source <(weir completion bash)
  weir completion zsh > "\${fpath[1]}/_weir"
  weir completion fish > ~/.config/fish/completions/weir.fish`,
  async run({ args: [shell, ...words], io, commands }) {
    const what = NAMED.find((name) => name === shell)
    if (what !== undefined) {
      const typed = { command: completionCommand, words, env: io.env }
      for (const name of await namesFor(what, typed)) io.out(name)
      return 0
    }
    const script = SCRIPTS[shell as keyof typeof SCRIPTS](completionPlaces(await commands()))
    io.out(script.trimEnd())
    return 0
  },
}
