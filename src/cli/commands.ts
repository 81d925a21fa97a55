import type { Command } from './command/command.ts'
import { COMMAND_LOADERS } from './command-loaders.ts'

/** Every verb, in the order of `weir --help`. */
export const COMMANDS: readonly Command[] = await Promise.all(
  Object.values(COMMAND_LOADERS).map((load) => load()),
)
