import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { WeirClient } from '../../client/weir-client.ts'
import { systemClock } from '../../core/clock.ts'
import { messageOf, WeirError } from '../../core/errors.ts'
import { RetrainLoop } from '../../jobs/retrain/loop.ts'
import { LoopClaim } from '../../jobs/retrain/loop-claim.ts'
import type { RetrainOptions, RetrainOutcome } from '../../jobs/retrain/options.ts'
import { RetrainProcess } from '../../jobs/retrain/process.ts'
import { retrain } from '../../jobs/retrain/retrain.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import type { RegisteredKind } from '../../kinds/registered.ts'
import { ONLINE_RULES } from '../../models/als/online/rules.ts'
import type { RetrainDecision, RetrainFacts } from '../../models/registry/retrain-trigger.ts'
import {
  liveVersionOf,
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../../models/registry/version.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import { readyVersions } from '../../models/versions/model-versions.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  type OptionSpec,
  unlessInterrupted,
} from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { READING_OPTIONS } from '../files/ratings-reading.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { topicNamed, word } from '../flag-kinds/words.ts'
import { INHERITED_ALS_OPTIONS } from '../flags/als-training.ts'
import { topicsOf, topicsPlaceOf } from '../flags/kafka.ts'
import { KEY_LENGTH_OPTION, maxKeyBytesOf } from '../flags/key-length.ts'
import { INHERITED_LINEAR_OPTIONS } from '../flags/linear-training.ts'
import { REGISTRY_OPTIONS, registryOf } from '../flags/model-registry.ts'
import { CHECK_OPTIONS, limitsOf } from '../flags/promotion-checks.ts'
import { connectWith } from '../flags/query.ts'
import { RETAIN_OPTION, retireOld } from '../flags/retain.ts'
import { detectorOf, holdablePolicyOf, TRIGGER_OPTIONS } from '../flags/retrain-triggers.ts'
import { shortNumber } from '../text/model-version.ts'
import { checkLines } from '../text/promotion-checks.ts'
import { errorWatchOf } from '../training/error-watch.ts'
import { INHERITED_FEATURES_OPTIONS } from '../training/features.ts'
import { INHERITED_HALF_LIFE_OPTION } from '../training/half-life.ts'
import { HISTORY_OPTIONS, historyOf } from '../training/history.ts'
import { TRAINERS } from '../training/inherited.ts'
import { KIND_FLAGS } from '../training/kind-flags.ts'
import { INHERITED_POPULARITY_FLAGS } from '../training/popularity-flags.ts'
import { hasSucceeded, outcomeText } from '../training/retrain-outcome.ts'
import { KIND_NAMES, observationsOf, retrainedKindOf } from '../training/retrained-kind.ts'
import { TriggerSources } from '../training/trigger-sources.ts'

const RETRAIN_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  kind: {
    type: 'string',
    value: word(KIND_NAMES, 'KIND'),
    help: 'Kind of the model, als, linear or popularity (default: that of its versions, else als)',
  },
  observations: {
    type: 'string',
    value: topicNamed('TOPIC'),
    help: 'Topic of observations: user,item,rating[,seconds], or LIBSVM lines of a linear model (default: what a job learns the model from, else ratings or examples)',
  },
  'forget-learned': {
    type: 'boolean',
    help: 'Train also where the topic does not have all that a job has learned: on other --observations, or after it has removed records',
  },
  ...HISTORY_OPTIONS,
  newest: {
    type: 'string',
    value: wholeNumber({ min: 1 }),
    help: 'Train only on the newest N observations, though the live version has learned others; the command says how many (default: all of the topic)',
  },
  trainer: {
    type: 'string',
    value: word(TRAINERS, 'NAME'),
    help: 'Trainer of a factor model: als, or bmf (Bayesian factorisation; starts from random rows) (default: of the live version, else bmf, or als with a flag that only als has)',
  },
  sweeps: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 100_000 }),
    help: 'bmf: sweeps of the chain (default: of the live version, else 30)',
  },
  once: { type: 'boolean', help: 'Train once now, then exit' },
  'take-over': {
    type: 'boolean',
    help: 'Take the model over from another process that retrains it in this folder, which then ends',
  },
  'no-warm-start': {
    type: 'boolean',
    help: 'Start from random rows instead of the live rows; a linear model needs no start',
  },
  'no-serving': {
    type: 'boolean',
    help: 'Only train and register a candidate; needs no serving job',
  },
  rule: {
    type: 'string',
    value: word(ONLINE_RULES, 'NAME'),
    help: 'How an ALS candidate learns newer observations: gram, sgd, fold-in or stack (default: gram; fold-in for implicit feedback)',
  },
  retain: {
    ...RETAIN_OPTION['retain']!,
    help: 'After a promotion or a refusal, delete all but the N newest versions (never the live one)',
  },
}

/** A flag of both kinds of models, with other values. */
const SOLVER_OPTION: Readonly<Record<string, OptionSpec>> = {
  solver: {
    type: 'string',
    value: word(['cholesky', 'cg', 'auto', 'dual', 'newton'], 'KIND'),
    help: 'ALS: cholesky (exact) or cg; linear: auto, dual or newton (default: of the live version)',
  },
}

/** `weir retrain`: retrains a model when a trigger fires, or once. */
export const retrainCommand: Command = {
  name: 'retrain',
  summary: 'Retrain a model when a trigger fires, check the candidate, and make it live',
  stopsItself: true,
  options: {
    ...REGISTRY_OPTIONS,
    ...RETRAIN_OPTIONS,
    ...TRIGGER_OPTIONS,
    ...INHERITED_ALS_OPTIONS,
    ...INHERITED_FEATURES_OPTIONS,
    ...INHERITED_LINEAR_OPTIONS,
    ...INHERITED_POPULARITY_FLAGS,
    ...INHERITED_HALF_LIFE_OPTION,
    ...SOLVER_OPTION,
    ...KEY_LENGTH_OPTION,
    ...CHECK_OPTIONS,
    // They count for the files of --ratings, too.
    ...READING_OPTIONS,
  },
  details: `Training runs in a separate process. It uses all observations that the topic has at its start, after those
of the files of --ratings or --examples, and starts from the live rows. The candidate learns later observations online before it goes live; a linear
candidate learns them afterwards, in the job that serves it. A candidate goes live if it passes the checks
on --golden; without --golden it stays a candidate. Training options that are not given are those of the
live version. If nothing has changed, the existing version is reused; with another golden set, a candidate
is checked again.

Examples:
  weir retrain --once --golden golden.data
  weir retrain --golden golden.data --count 10000 --on-drift adwin --retain 5
  weir retrain --once --no-serving --implicit --alpha 10
  weir retrain --ratings hdfs://namenode:9870/history --golden golden.data --evaluate test.data --every 60 --error-level 0.9
  weir retrain --model svm-model --once --golden golden.svm`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const registry = registryOf(flags)
    const state = await unlessInterrupted(adoptTopic(flags, registry), io)
    const kind = retrainedKindOf(flags, state)
    const live = liveVersionOf(state, flags.string('model'))
    const newest = versionsOf(state, flags.string('model')).findLast(
      (version) => version.state !== 'retired',
    )
    const observations = observationsOf(flags, kind, state)
    io.err(`retrain: reads the observations of topic ${observations}`)
    const policy = flags.boolean('once') ? undefined : holdablePolicyOf(flags, live)
    await unlessInterrupted(requireObservations(flags, observations), io)
    await using client = flags.boolean('no-serving')
      ? undefined
      : await unlessInterrupted(connectWith(flags), io)
    const options = await unlessInterrupted(
      optionsOf(flags, { registry, client, io, kind, observations, live, newest }),
      io,
    )
    if (policy === undefined) {
      const outcome = await unlessInterrupted(retrain(options), io)
      await handleOutcome(outcome, { flags, io, registry })
      return hasSucceeded(outcome) ? 0 : 1
    }
    await using claim = await claimLoop(flags, registry, io)
    const reportHeld = heldReporter(io)
    const sources = new TriggerSources({
      policy,
      model: flags.string('model'),
      job: `${flags.string('host')}:${flags.string('port')}`,
      observations,
      learn: kind.learner,
      report: (line) => io.err(`retrain: ${line}`),
    })
    // Not closed at the end: that would wait for a training, which leaves nothing if it is stopped.
    const loop = new RetrainLoop({
      ...options,
      policy,
      detector: detectorOf(flags),
      intervalMs: flags.number('interval'),
      ...(client === undefined
        ? {}
        : {
            error: errorWatchOf(flags, { client, kind, observations, live, sources, options, io }),
          }),
      onLook: (facts, decision) => {
        sources.looked(facts)
        reportLook({ flags, io }, facts, decision)
        reportHeld(decision)
      },
      onOutcome: (outcome) => handleOutcome(outcome, { flags, io, registry }),
      onError: (error) => sources.failed(messageOf(error)),
      claim,
    })
    loop.start()
    io.err('retrain: waiting for a trigger; press Ctrl-C to stop')
    await Promise.race([io.interrupted, loop.fenced])
    return 0
  },
}

/** Throws JOB_ALREADY_RUNNING if another process retrains the model in this folder, or on this Kafka. */
async function claimLoop(flags: Flags, registry: ModelRegistry, io: CommandIo): Promise<LoopClaim> {
  return await LoopClaim.take({
    folder: join(dataDirectory(flags.string('data-dir')).root, 'loops'),
    model: flags.string('model'),
    isTakeOver: flags.boolean('take-over'),
    clock: systemClock,
    registry: topicsPlaceOf(flags).kafka === undefined ? undefined : registry,
    onWarning: (warning) => io.err(`warning: ${warning}`),
  })
}

/** Throws UNKNOWN_TOPIC: without observations no trigger ever fires. */
async function requireObservations(flags: Flags, observations: string): Promise<void> {
  await using topics = await topicsOf(flags)
  if (await topics.has(observations)) return
  throw new WeirError(
    'UNKNOWN_TOPIC',
    `there is no topic ${observations} to train on; create it ("weir topic create ${observations}"), or name another one with --observations`,
  )
}

/** Registers the versions that were published without the registry. */
async function adoptTopic(flags: Flags, registry: ModelRegistry): Promise<RegistryState> {
  await using topics = await topicsOf(flags)
  const model = flags.string('model')
  const has = await topics.has(model)
  return has
    ? await registry.adopt(model, await readyVersions(topics, model))
    : await registry.read()
}

interface RetrainInputs {
  readonly registry: ModelRegistry
  readonly client: WeirClient | undefined
  readonly io: CommandIo
  readonly kind: RegisteredKind
  readonly observations: string
  readonly live: RegisteredVersion | undefined
  /** The newest version, live or not. */
  readonly newest: RegisteredVersion | undefined
}

async function optionsOf(flags: Flags, inputs: RetrainInputs): Promise<RetrainOptions> {
  const { registry, client, io, observations } = inputs
  const newest = flags.optionalNumber('newest')
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  const model = await KIND_FLAGS[inputs.kind.name]!.modelOf(flags, inputs)
  return {
    ...model,
    place: topicsPlaceOf(flags),
    registry,
    model: flags.string('model'),
    observations,
    warmStart: !flags.boolean('no-warm-start'),
    forgetLearned: flags.boolean('forget-learned'),
    limits: limitsOf(flags),
    ...historyOf(flags, model),
    maxKeyBytes: maxKeyBytesOf(flags),
    temporary: join(dataDirectory(flags.string('data-dir')).root, 'retraining'),
    start: () => new RetrainProcess((done, total) => bar.update(done, total)),
    newId: randomUUID,
    clock: systemClock,
    onStep: (step) => io.err(`retrain: ${step}`),
    ...(newest === undefined ? {} : { newest }),
    ...(client === undefined ? {} : { reader: client }),
  }
}

function reportLook(
  { flags, io }: { readonly flags: Flags; readonly io: CommandIo },
  facts: RetrainFacts,
  decision: RetrainDecision,
): void {
  if (flags.boolean('json')) {
    io.out(JSON.stringify({ event: 'look', ...facts, decision }))
  } else if (decision.kind === 'train') {
    const { trigger, value, bound } = decision
    io.err(`retrain: trigger ${trigger} fired (${shortNumber(value)}, limit ${shortNumber(bound)})`)
  }
}

/** Reports, once for each time it begins, that a rollback holds the loop. */
function heldReporter(io: CommandIo): (decision: RetrainDecision) => void {
  let wasHeld = false
  return ({ kind }) => {
    const isHeld = kind === 'held'
    if (isHeld && !wasHeld) {
      io.err(
        'retrain: held, because the live version was rolled back to by hand; it goes on after "weir model promote", "weir retrain --once", an alarm or an error above its bound',
      )
    }
    wasHeld = isHeld
  }
}

/** Reports the outcome; after a promotion or a refusal retires the versions that `--retain` does not keep. */
async function handleOutcome(
  outcome: RetrainOutcome,
  {
    flags,
    io,
    registry,
  }: { readonly flags: Flags; readonly io: CommandIo; readonly registry: ModelRegistry },
): Promise<void> {
  const { kind } = outcome
  const checks = 'checks' in outcome ? outcome.checks : undefined
  if (flags.boolean('json')) {
    const version = 'version' in outcome ? outcome.version : undefined
    io.out(JSON.stringify({ event: kind, ...(version === undefined ? {} : { version }) }))
  } else {
    for (const line of checks === undefined ? [] : checkLines(checks)) io.err(line)
    io.out(outcomeText(outcome))
  }
  if (kind === 'promoted' || kind === 'refused') await retireOld(flags, registry, io)
}
