import { createRequire } from 'node:module'
import { systemClock } from '../../core/clock.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import {
  changeSettings,
  readSettings,
  type SettingsChange,
} from '../../inference/repository/revisions.ts'
import { type Command, Flags, UsageError } from '../command/command.ts'
import { textOfFile } from '../command/text-file.ts'
import { type FlagKind, kindOf } from '../flag-kinds/flag-kind.ts'
import { repositoryName } from '../flag-kinds/named.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { input } from '../flag-kinds/places.ts'
import { name } from '../flag-kinds/words.ts'
import { REPOSITORY_OPTION, repositoryOf } from './flags.ts'

const SETTING: FlagKind = kindOf(
  { sort: 'pair', shown: 'KEY=VALUE', takes: 'KEY=VALUE of a setting' },
  (text) => SETTING_PAIR.test(text),
)
const SETTING_PAIR = /^([a-z0-9._-]+)=(.*)$/i

/** `weir model configure`: changes the settings of a served model, apart from its weights. */
export const modelConfigureCommand: Command = {
  name: 'model configure',
  summary: 'Change the settings of a model of a repository, or go back to earlier ones',
  positions: [{ value: repositoryName() }, { value: input(), isOptional: true }],
  options: {
    set: {
      type: 'string',
      excludes: ['rollback', 'revision'],
      multiple: true,
      value: SETTING,
      help: 'Change one setting, such as slo-ms=50 or checks.max-p99-ms=40 (repeatable)',
    },
    rollback: {
      type: 'boolean',
      excludes: ['revision'],
      help: 'Make the revision live again that was live before',
    },
    revision: {
      type: 'string',
      value: wholeNumber({ min: 1 }),
      help: 'Make this revision live again',
    },
    reason: { type: 'string', value: name('TEXT'), default: 'by hand', help: 'Reason to store' },
    ...REPOSITORY_OPTION,
  },
  details: `FILE has all settings, as deployment.yaml. Each change is a revision, apart from the versions of the weights.
Settings that were edited by hand become a revision before the next change. A running "weir run models" loads the
model with the new settings and then drops the old ones, without a failed request. A second rollback goes forward again.

Examples:
  weir model configure digits --set slo-ms=20 --set batching.rule=aimd --reason "p99 above the goal"
  weir model configure digits deployment.yaml
  weir model configure digits --rollback
  weir model configure digits --revision 3`,
  run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const place = { root: repositoryOf(flags), name: args[0]! }
    const { present } = readSettings(nodeFileSystem, place)
    const change = changeOf(flags, args[1], present)
    const { live, before } = changeSettings(nodeFileSystem, place, {
      change,
      nowMs: systemClock.nowMs(),
    })
    const { name } = place
    if (flags.boolean('json')) io.out(JSON.stringify({ model: name, live, before }))
    else io.out(`revision ${live} of the settings of ${name} is live (was ${before})`)
    return Promise.resolve(0)
  },
}

function changeOf(flags: Flags, file: string | undefined, present: string): SettingsChange {
  const pairs = flags.list('set')
  const revision = flags.optionalNumber('revision')
  const reason = flags.string('reason')
  const given = [file, pairs[0], revision, flags.boolean('rollback') ? true : undefined]
  if (given.filter((one) => one !== undefined).length !== 1) {
    throw new UsageError('give one of FILE, --set, --rollback and --revision')
  }
  if (revision !== undefined) return { kind: 'return', revision }
  if (file !== undefined) return { kind: 'store', text: textOfFile('FILE', file), reason }
  if (pairs.length === 0) return { kind: 'rollback' }
  return { kind: 'store', text: withSettings(present, pairs), reason }
}

/** The text of settings with some of them changed by pairs of `--set`, KEY=VALUE; comments stay. */
export function withSettings(text: string, pairs: readonly string[]): string {
  const { isMap, parse, parseDocument } = createRequire(import.meta.url)(
    'yaml',
  ) as typeof import('yaml')
  const document = parseDocument(text)
  for (const pair of pairs) {
    const [, key = '', value] = SETTING_PAIR.exec(pair) ?? []
    const path = key.split('.')
    // A short form such as "batching: slack" gives way to the map that the key needs.
    const parent = path.slice(0, -1)
    if (parent.length > 0 && !isMap(document.getIn(parent))) document.deleteIn(parent)
    document.setIn(path, parse(value!, { stringKeys: true }))
  }
  return String(document)
}
