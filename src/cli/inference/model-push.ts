import { nodeFileSystem } from '../../files/node-file-system.ts'
import { pushModel } from '../../inference/repository/push.ts'
import { type Command, Flags } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { input } from '../flag-kinds/places.ts'
import { name } from '../flag-kinds/words.ts'
import { REPOSITORY_OPTION, repositoryOf } from './flags.ts'

/** `weir model push`: adds a version of a model of any kind to a repository. */
export const modelPushCommand: Command = {
  name: 'model push',
  summary: 'Add a version of any model (ONNX, module, remote endpoint) to a repository',
  positions: [{ value: input('FILE|FOLDER') }],
  options: {
    name: { type: 'string', isRequired: true, value: name(), help: 'Name of the model' },
    version: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 0xffffffff }),
      help: 'Version (default: one more than the highest)',
    },
    ...REPOSITORY_OPTION,
  },
  details: `FILE ends with .onnx, .ts, .js or .mjs (a module that exports a model), or .json (a server of the Open
Inference Protocol: {"url": "http://HOST:PORT", "model": "NAME"}). A FOLDER has one such file, named model.onnx,
model.ts, ... or ending with .onnx, and what belongs to it: weights outside the file, labels, a vocabulary. A running "weir run models" loads the version
and makes it live when it is ready. The checksum of each file is stored with it: one that changes later is refused.

Examples:
  weir model push digits.onnx --name digits
  weir model push photo-model/ --name photo-model
  weir model push digits.onnx --name digits --version 7 --repository /srv/models`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const version = flags.optionalNumber('version')
    const pushed = await pushModel(nodeFileSystem, {
      root: repositoryOf(flags),
      name: flags.string('name'),
      file: args[0]!,
      ...(version === undefined ? {} : { version }),
    })
    io.out(
      flags.boolean('json')
        ? JSON.stringify(pushed)
        : `pushed version ${pushed.version} of ${pushed.name}: ${pushed.files} files, ${pushed.bytes} bytes, sha256 ${pushed.sha256.slice(0, 12)}`,
    )
    return 0
  },
}
