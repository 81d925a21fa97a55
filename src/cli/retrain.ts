import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { WeirClient } from '../client/weir-client.ts'
import { systemClock } from '../core/clock.ts'
import type { ModelRegistry } from '../jobs/model-registry.ts'
import { type RetrainOptions, type RetrainOutcome, retrain } from '../jobs/retrain.ts'
import { LiveErrorWatch } from '../jobs/retrain-error.ts'
import { RetrainLoop } from '../jobs/retrain-loop.ts'
import type { RetrainAlsOptions } from '../jobs/retrain-messages.ts'
import { RetrainProcess } from '../jobs/retrain-process.ts'
import { Adwin } from '../models/drift-adwin.ts'
import type { DriftDetector } from '../models/drift-detector.ts'
import { PageHinkley } from '../models/drift-page-hinkley.ts'
import type { RetrainDecision, RetrainFacts } from '../models/retrain-trigger.ts'
import { ALS_OPTIONS, alsOptionsOf } from './als-training-flags.ts'
import { type Command, type CommandIo, Flags, type OptionSpec } from './command.ts'
import { dataDirectory } from './data-directory.ts'
import { topicsOf, topicsPlaceOf } from './kafka-flags.ts'
import { CHECK_OPTIONS, goldenFile, limitsOf, tellChecks } from './model-promote.ts'
import { REGISTRY_OPTIONS, registryOf } from './model-registry-flags.ts'
import { retireOld } from './model-retire.ts'
import { short } from './model-text.ts'
import { readyVersions } from './model-versions.ts'
import { ProgressBar } from './progress-bar.ts'
import { connectWith } from './query-flags.ts'
import { policyOf, rangeOf, TRIGGER_OPTIONS } from './retrain-triggers.ts'

const RETRAIN_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  observations: {
    type: 'string',
    value: 'TOPIC',
    default: 'ratings',
    help: 'Topic of observations, user,item,rating[,seconds]',
  },
  newest: {
    type: 'string',
    value: 'N',
    help: 'Train on the newest N observations alone (default: all that the topic holds)',
  },
  once: { type: 'boolean', help: 'Train once, now, and end' },
  'no-warm-start': { type: 'boolean', help: 'Start from random rows, not from the live ones' },
  'no-serving': {
    type: 'boolean',
    help: 'No job serves the model: train and register a candidate only',
  },
  rule: {
    type: 'string',
    value: 'NAME',
    default: 'gram',
    help: 'How observations since the range are learned: gram, sgd or fold-in',
  },
  retain: { type: 'string', value: 'N', help: 'After a promotion keep only N versions' },
}

/** `weir retrain`: trains again, by itself or once. */
export const retrainCommand: Command = {
  name: 'retrain',
  summary: 'Train a model again when it pays, check the candidate, and make it live',
  options: {
    ...REGISTRY_OPTIONS,
    ...RETRAIN_OPTIONS,
    ...TRIGGER_OPTIONS,
    ...ALS_OPTIONS,
    ...CHECK_OPTIONS,
  },
  details: `Training runs in a process of its own on all observations that the topic holds when it begins, from the
rows that are live then; what comes meanwhile is learned on the candidate before it goes live. It goes
live if it passes the checks on --golden; without --golden it stays a candidate. The same
observations and options give the version that they gave before, without work.

Examples:
  weir retrain --once --golden golden.data
  weir retrain --golden golden.data --count 10000 --on-drift adwin --retain 5`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const registry = registryOf(flags)
    await adoptTopic(flags, registry)
    await using client = flags.boolean('no-serving') ? undefined : await connectWith(flags)
    const options = await optionsOf(flags, registry, client, io)
    if (flags.boolean('once')) {
      const outcome = await retrain(options)
      await told(flags, registry, io, outcome)
      return outcome.kind === 'refused' || outcome.kind === 'nothing-to-train-on' ? 1 : 0
    }
    await using loop = new RetrainLoop({
      ...options,
      policy: policyOf(flags),
      intervalMs: flags.integer('interval', 1),
      ...(client === undefined ? {} : { error: errorWatch(flags, client) }),
      onLook: (facts, decision) => tellLook(flags, io, facts, decision),
      onOutcome: (outcome) => told(flags, registry, io, outcome),
      onError: (error) => io.err(`retrain: ${error instanceof Error ? error.message : error}`),
    })
    loop.start()
    io.err('retrain: looking for a reason to train; Ctrl-C ends it')
    await io.interrupted
    return 0
  },
}

/** Versions that were published without the registry count from now on. */
async function adoptTopic(flags: Flags, registry: ModelRegistry): Promise<void> {
  await using topics = await topicsOf(flags)
  const model = flags.string('model')
  if (await topics.has(model)) await registry.adopt(model, await readyVersions(topics, model))
}

async function optionsOf(
  flags: Flags,
  registry: ModelRegistry,
  client: WeirClient | undefined,
  io: CommandIo,
): Promise<RetrainOptions> {
  const golden = flags.optional('golden')
  const newest = flags.optionalInteger('newest', 1)
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  return {
    place: topicsPlaceOf(flags),
    registry,
    model: flags.string('model'),
    observations: flags.string('observations'),
    als: alsOptionsOf(flags) as RetrainAlsOptions,
    rule: { rule: flags.choice('rule', ['gram', 'sgd', 'fold-in']) },
    warmStart: !flags.boolean('no-warm-start'),
    limits: limitsOf(flags),
    temporary: join(dataDirectory(flags.string('data-dir')).root, 'retraining'),
    start: () => new RetrainProcess((done, total) => bar.update(done, total)),
    newId: randomUUID,
    clock: systemClock,
    onStep: (step) => io.err(`retrain: ${step}`),
    ...(newest === undefined ? {} : { newest }),
    ...(client === undefined ? {} : { reader: client }),
    ...(golden === undefined ? {} : { golden: await goldenFile(golden) }),
  }
}

function errorWatch(flags: Flags, client: WeirClient): LiveErrorWatch {
  const range = rangeOf(flags)
  return new LiveErrorWatch({
    reader: client,
    place: topicsPlaceOf(flags),
    observations: flags.string('observations'),
    state: flags.string('state'),
    detector: () => detectorOf(flags),
    ...(range === undefined ? {} : { range }),
  })
}

function detectorOf(flags: Flags): DriftDetector {
  const range = rangeOf(flags) ?? { min: 1, max: 5 }
  if (flags.optional('on-drift') === 'page-hinkley') return new PageHinkley()
  return new Adwin({ scale: (range.max - range.min) ** 2 })
}

function tellLook(
  flags: Flags,
  io: CommandIo,
  facts: RetrainFacts,
  decision: RetrainDecision,
): void {
  if (flags.boolean('json')) {
    io.out(JSON.stringify({ event: 'look', ...facts, decision }))
  } else if (decision.kind === 'train') {
    const { trigger, value, bound } = decision
    io.err(`retrain: ${trigger} fired (${short(value)} of ${short(bound)})`)
  }
}

async function told(
  flags: Flags,
  registry: ModelRegistry,
  io: CommandIo,
  outcome: RetrainOutcome,
): Promise<void> {
  const checks = 'checks' in outcome ? outcome.checks : undefined
  if (flags.boolean('json')) {
    const { kind } = outcome
    const version = 'version' in outcome ? outcome.version : undefined
    io.out(JSON.stringify({ event: kind, ...(version === undefined ? {} : { version }) }))
  } else {
    if (checks !== undefined) tellChecks(checks, io)
    io.out(sentence(outcome))
  }
  const retain = flags.optionalInteger('retain', 1)
  if (retain !== undefined && outcome.kind === 'promoted')
    await retireOld(flags, registry, retain, io)
}

function sentence(outcome: RetrainOutcome): string {
  switch (outcome.kind) {
    case 'nothing-to-train-on':
      return 'there are no observations to train on'
    case 'exists':
      return `version ${outcome.version.number} came from the same observations and options: nothing to do`
    case 'candidate':
      return `version ${outcome.version.number} is a candidate; "weir model promote ${outcome.version.number} --golden FILE" checks it`
    case 'refused':
      return `version ${outcome.version.number} stays a candidate: ${outcome.reason}`
    case 'promoted':
      return `version ${outcome.version.number} is live; a job that learns goes on with the ${outcome.gap} observations since its last replay`
  }
}
