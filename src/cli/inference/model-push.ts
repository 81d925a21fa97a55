import { systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { type PlaceAddress, parsePlace } from '../../inference/places/address.ts'
import { openPlace } from '../../inference/places/open.ts'
import { pushFromPlace } from '../../inference/places/push-from-place.ts'
import { type PushedVersion, pushModel } from '../../inference/repository/push.ts'
import { type Command, type CommandInput, Flags, UsageError } from '../command/command.ts'
import { ReadingBar } from '../files/reading-bar.ts'
import { type FlagKind, mustBe } from '../flag-kinds/flag-kind.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { input, path } from '../flag-kinds/places.ts'
import { name } from '../flag-kinds/words.ts'
import { REPOSITORY_OPTION, repositoryOf } from './flags.ts'

const LOCAL = input('FILE|FOLDER|PLACE')
const TAKES = `${LOCAL.takes}, or a place such as hf://OWNER/NAME`

/** A file or a folder of this machine, or a place that models come from. */
const SOURCE: FlagKind = {
  ...LOCAL,
  takes: TAKES,
  problem(text) {
    try {
      return parsePlace(text) === undefined ? LOCAL.problem(text) : undefined
    } catch (error) {
      return mustBe(TAKES, text, `: ${messageOf(error)}`)
    }
  },
  problemHere: (text) => (parsePlace(text) === undefined ? LOCAL.problemHere?.(text) : undefined),
}

/** `weir model push`: adds a version of a model of any kind to a repository. */
export const modelPushCommand: Command = {
  name: 'model push',
  summary: 'Add a version of any model (ONNX, module, remote endpoint) to a repository',
  positions: [{ value: SOURCE }],
  options: {
    name: { type: 'string', isRequired: true, value: name(), help: 'Name of the model' },
    version: {
      type: 'string',
      value: wholeNumber({ min: 1, max: HIGHEST_VERSION }),
      help: 'Version (default: one more than the highest)',
    },
    file: {
      type: 'string',
      value: path('PATH'),
      help: 'Model in a PLACE that has several (default: its only ONNX file)',
    },
    'trust-code': {
      type: 'boolean',
      help: 'Take a module, or a file that names another server, from a PLACE: whoever wrote it runs code in the server',
    },
    ...REPOSITORY_OPTION,
  },
  details: `FILE ends with .onnx, .ts, .js or .mjs (a module that exports a model), or .json (a server of the Open
Inference Protocol: {"url": "http://HOST:PORT", "model": "NAME"}). A FOLDER has one such file, named model.onnx,
model.ts, ... or ending with .onnx, and what belongs to it: weights outside the file, labels, a vocabulary. A running "weir run models" loads the version
and makes it live when it is ready. The checksum of each file is stored with it: one that changes later is refused.

A PLACE is one of
  hf://OWNER/NAME@REVISION[/FOLDER]     the Hugging Face Hub; HF_TOKEN, HF_ENDPOINT
  s3://BUCKET/FOLDER/                   S3 and servers like it; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
                                        AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL
  mlflow:models:/NAME/VERSION|STAGE     MLflow's registry, also NAME@ALIAS; MLFLOW_TRACKING_URI, MLFLOW_TRACKING_TOKEN
  oci://HOST/NAME:TAG                   files that "oras push" has stored; OCI_USERNAME, OCI_PASSWORD
Only the environment has credentials. The files are compared with the checksums of the place. A push that was
interrupted continues where it ended. Weights of other formats are left out, and code without --trust-code.

Examples:
  weir model push digits.onnx --name digits
  weir model push photo-model/ --name photo-model
  weir model push digits.onnx --name digits --version 7 --repository /srv/models
  weir model push hf://owner/name@v1 --file onnx/model.onnx --name sentences`,
  async run(given) {
    const flags = new Flags(given.flags)
    const source = given.args[0]!
    const place = parsePlace(source)
    if (place === undefined) return await pushLocal(source, flags, given)
    return await pushPlace(place, source, flags, given)
  },
}

async function pushLocal(file: string, flags: Flags, { io }: CommandInput): Promise<number> {
  if (flags.optional('file') !== undefined || flags.boolean('trust-code')) {
    throw new UsageError(
      '--file and --trust-code are for places such as hf://OWNER/NAME; of this machine name the file itself',
    )
  }
  const pushed = await pushModel(nodeFileSystem, { ...targetOf(flags), file })
  io.out(flags.boolean('json') ? JSON.stringify(pushed) : lineOf(pushed))
  return 0
}

async function pushPlace(
  place: PlaceAddress,
  address: string,
  flags: Flags,
  { io }: CommandInput,
): Promise<number> {
  const bar = new ReadingBar(io, 'reading the model')
  const clock = systemClock
  const options = { environment: io.env, nowMs: () => clock.nowMs() }
  const pushed = await pushFromPlace({
    ...targetOf(flags),
    place: openPlace(place, options),
    address,
    file: flags.optional('file'),
    trustsCode: flags.boolean('trust-code'),
    files: nodeFileSystem,
    clock,
    onBytes: (done, total) => bar.onRead(done, total),
  }).finally(() => bar.finish())
  if (flags.boolean('json')) {
    io.out(JSON.stringify({ ...pushed, place: address }))
    return 0
  }
  io.out(lineOf(pushed))
  const at = pushed.revision === undefined ? '' : ` at ${pushed.revision}`
  io.out(`from ${address}${at}: the model is ${pushed.from}`)
  if (pushed.leftOut.length > 0) io.out(`left out: ${shortList(pushed.leftOut)}`)
  if (pushed.unchecked.length > 0) {
    io.out(
      `the place states no checksum of ${shortList(pushed.unchecked)}: compared by length only`,
    )
  }
  return 0
}

function targetOf(flags: Flags) {
  const version = flags.optionalNumber('version')
  return {
    root: repositoryOf(flags),
    name: flags.string('name'),
    ...(version === undefined ? {} : { version }),
  }
}

function lineOf({ version, name, files, bytes, sha256 }: PushedVersion): string {
  return `pushed version ${version} of ${name}: ${files} files, ${bytes} bytes, sha256 ${sha256.slice(0, 12)}`
}

function shortList(paths: readonly string[]): string {
  const more = paths.length > 5 ? `, and ${paths.length - 5} more` : ''
  return `${paths.slice(0, 5).join(', ')}${more}`
}
