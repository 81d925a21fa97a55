import { resolve } from 'node:path'
import { WeirClient } from '../../client/weir-client.ts'
import { printable } from '../../core/text/printable.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'
import { jobAddressOptions } from '../command/address.ts'
import { type CommandInput, Flags, type OptionSpec } from '../command/command.ts'
import { milliseconds } from '../flag-kinds/numbers.ts'
import { path } from '../flag-kinds/places.ts'
import { CONNECTION_OPTIONS, connectionOf } from '../flags/query.ts'

/** Flag of the folder that holds models of any kind. */
export const REPOSITORY_OPTION: Readonly<Record<string, OptionSpec>> = {
  repository: {
    type: 'string',
    value: path('DIR'),
    default: 'models',
    help: 'Folder of the models: NAME/VERSION/model.onnx',
  },
}

/** Flags of every verb that asks a process of `weir run models`. */
export const MODELS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...jobAddressOptions('"weir run models"'),
  ...CONNECTION_OPTIONS,
  timeout: {
    type: 'string',
    value: milliseconds(),
    default: '60000',
    help: 'Time to wait for the answer',
  },
}

/** The folder of `--repository`. */
export function repositoryOf(flags: Flags): string {
  return resolve(flags.string('repository'))
}

/** Connects to the process of `--job`; answers may be as large as a frame can be. */
export function connectToModels(flags: Flags): Promise<WeirClient> {
  return WeirClient.connect({ ...connectionOf(flags), maxFrameBytes: MAX_FRAME_BYTES })
}

/** Loads or unloads the model of the first argument in the running process. */
export async function changeModel(
  action: 'load' | 'unload',
  { flags: values, args, io }: CommandInput,
): Promise<number> {
  const flags = new Flags(values)
  const name = args[0]!
  await using client = await connectToModels(flags)
  const info = await client.changeModel(action, name, { deadlineMs: flags.number('timeout') })
  io.out(flags.boolean('json') ? JSON.stringify(info) : `${action}ed ${lineOf(info)}`)
  return 0
}

/** A model in one line: its kind, its versions with their states, its aliases. */
export function lineOf({ name, kind, liveVersion, versions, aliases }: ModelInfo): string {
  const shown = versions.map(({ version, state, reason }) => {
    const isLive = version === liveVersion ? ' live' : ''
    return `${version} ${state.toLowerCase()}${isLive}${reason === '' ? '' : ` (${printable(reason)})`}`
  })
  const named = Object.entries(aliases).map(([alias, version]) => `@${alias} = ${version}`)
  return [name, kind, [...shown, ...named].join(', ') || 'no versions'].join('  ')
}
