import { HIGHEST_VERSION } from '../../core/model-version.ts'
import {
  aFunction,
  listOf,
  name,
  numberIn,
  type OptionKind,
  objectWith,
  oneOf,
  required,
  text,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { nested, variants } from '../../core/options/shape.ts'
import { FEEDBACK } from '../feedback.ts'
import type { StoredCheck } from './checks/promotion-verdict.ts'
import type { RegistryCommand } from './commands.ts'
import type { LearningPhase } from './learning-phase.ts'
import type { RetrainingLease } from './retraining-lease.ts'
import type { GoldenErrors, LearningTopic, RegisteredVersion } from './version.ts'

/** The number of a version; 0 stands for none where `orNone`. */
const versionNumber = (orNone = false): OptionKind<number> =>
  wholeNumber({ min: orNone ? 0 : 1, max: HIGHEST_VERSION })

const time = numberIn({ min: 0 })
const version = { name: required(name), number: required(versionNumber()) }
const change = {
  name: required(name),
  expectedLive: required(versionNumber(true)),
  atMs: required(time),
}
const lease = nested<RetrainingLease>({
  process: required(name),
  sinceMs: required(time),
  atMs: required(time),
})

/** The commands of the registry: an unknown kind is refused, and does not act as another one. */
export const REGISTRY_COMMAND: OptionKind<RegistryCommand> = variants<RegistryCommand, 'kind'>(
  'kind',
  {
    register: {
      version: required(objectWith<RegisteredVersion>('a version, with name, number and lineage')),
    },
    'record-checks': {
      ...version,
      checks: required(listOf(objectWith<StoredCheck>('the result of a check'))),
    },
    'record-error': { ...version, mse: required(numberIn({ min: 0 })) },
    'record-golden': {
      ...version,
      golden: required(nested<GoldenErrors>({ golden: required(text), squares: required(text) })),
    },
    'record-phase': {
      ...version,
      learning: required(
        nested<LearningPhase>({
          phase: required(wholeNumber({ min: 1 })),
          atMs: required(time),
          text: required(text),
        }),
      ),
    },
    'resume-learning': { ...version, atMs: required(time), reason: required(text) },
    'record-served': { ...version, atMs: required(time) },
    'record-learning': {
      name: required(name),
      learning: required(
        nested<LearningTopic>({
          learnsFrom: name,
          learnsFromId: text,
          deltasFrom: listOf(wholeNumber({ min: 0 })),
          learnsFeedback: FEEDBACK,
          learnsKind: oneOf('factors', 'linear'),
          learnsPositive: numberIn(),
        }),
      ),
    },
    'lease-retraining': {
      name: required(name),
      lease: required(lease),
      mayTake: required(aFunction()),
    },
    'end-retraining': { name: required(name), process: required(name) },
    promote: { ...version, ...change, force: name },
    rollback: { ...change, reason: required(text) },
    retire: { ...version, atMs: required(time) },
  },
)
