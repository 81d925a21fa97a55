import type { Command } from '../command/command.ts'
import { modelReference } from '../flag-kinds/named.ts'
import { changeModel, MODELS_OPTIONS } from './flags.ts'

/** `weir model unload`: takes a served model out of memory. */
export const modelUnloadCommand: Command = {
  name: 'model unload',
  summary: 'Take a model of "weir run models" out of memory',
  positions: [{ value: modelReference }],
  options: MODELS_OPTIONS,
  details: `Requests that wait are answered first; later ones fail with MODEL_NOT_LOADED. The files stay. It lasts
until "weir model load --served" or the next start of the process.

Example:
  weir model unload digits`,
  run: (input) => changeModel('unload', input),
}
