import type { Command } from '../command/command.ts'
import { bashCompletion } from '../completion/bash.ts'
import { fishCompletion } from '../completion/fish.ts'
import { completionPlaces } from '../completion/words.ts'
import { zshCompletion } from '../completion/zsh.ts'
import { word } from '../flag-kinds/words.ts'

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** `weir completion`: prints the completion script of a shell. */
export const completionCommand: Command = {
  name: 'completion',
  summary: 'Print the script that completes commands and flags in bash, zsh or fish',
  positions: [{ value: word(Object.keys(SCRIPTS), 'SHELL') }],
  options: {},
  details: `SHELL is bash, zsh or fish. The script lists the commands of this version; print it again after
an upgrade.

Example:
  source <(weir completion bash)
  weir completion zsh > "\${fpath[1]}/_weir"
  weir completion fish > ~/.config/fish/completions/weir.fish`,
  async run({ args, io, commands }) {
    const script = SCRIPTS[args[0] as keyof typeof SCRIPTS](completionPlaces(await commands()))
    io.out(script.trimEnd())
    return 0
  },
}
