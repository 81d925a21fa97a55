/*
 * The version hand-shake as a pure decision: how gates and learners of all slots come to learn on the
 * live version. No slot may get a delta of a version that it does not know, so each step waits until
 * every subtask has answered the one before:
 *
 *   gates, learners   opened ------------>|
 *                                         | live version known, its rows readable
 *   learners          <------ measure ----|
 *                     measured ---------->| constants: the same for all slots
 *   learners          <-------- begin ----|
 *                     begun ------------->|
 *   gates             <-- let-through ----| learning
 *
 * A model whose rows need no preparation has no learners: its steps need no answer.
 */

/** A learner's part of the constants of a version. */
export interface Measured<C> {
  /** The constants are those that learning on the version began with before. */
  readonly kept: boolean
  readonly constants: C
}

/** The last order that was sent in this attempt for the live version. */
export type HandshakeStep = 'none' | 'measure' | 'begin' | 'let-through'

/** What the coordinator has observed. Facts of an attempt begin again with the next one. */
export interface HandshakeFacts<C> {
  readonly attempt: number
  /** Subtasks of the attempt's gates and learners. */
  readonly gates: number
  readonly learners: number
  /** The live version; 0 before the first. Outlives attempts. */
  readonly live: number
  readonly step: HandshakeStep
  /** Subtasks of gates that are open, `<uid>/<subtask>`. */
  readonly openGates: ReadonlySet<string>
  /** By slot, the versions that the learner's checkpoint knew. */
  readonly openLearners: ReadonlyMap<number, readonly number[]>
  /** By slot, the answers to `measure`. */
  readonly measured: ReadonlyMap<number, Measured<C>>
  /** Slots that have answered `begin`. */
  readonly begun: ReadonlySet<number>
  /** Versions that every learner was ordered to begin. */
  readonly ordered: readonly number[]
}

/** A message to the coordinator, or an order that it has sent. */
export type HandshakeMessage<C> =
  /** An operator of an attempt starts. */
  | {
      readonly kind: 'started'
      readonly attempt: number
      readonly operator: 'gate' | 'learner'
      readonly subtasks: number
    }
  /** A version went live, or did so again. */
  | { readonly kind: 'live'; readonly version: number }
  | { readonly kind: 'gate-opened'; readonly uid: string; readonly subtask: number }
  | { readonly kind: 'opened'; readonly slot: number; readonly known: readonly number[] }
  | ({ readonly kind: 'measured'; readonly slot: number; readonly version: number } & Measured<C>)
  | { readonly kind: 'begun'; readonly slot: number; readonly version: number }
  | { readonly kind: 'sent'; readonly step: 'measure' | 'let-through' }
  | { readonly kind: 'sent'; readonly step: 'begin'; readonly versions: readonly number[] }

/** What to do next. */
export type HandshakeDecision =
  /** No version is live. */
  | 'no-version'
  /** Some gate or learner of the attempt is not open. */
  | 'wait-for-subtasks'
  /** Some slot cannot read all rows of the version yet; look again soon. */
  | 'wait-for-rows'
  /** Order the learners to measure the version's rows. */
  | 'measure'
  | 'wait-for-measured'
  /** Order the learners to begin, all with the same constants. */
  | 'begin'
  | 'wait-for-begun'
  /** Order the gates to let observations and deltas through. */
  | 'let-through'
  /** The version is being learned on. */
  | 'learning'

/** Facts before anything was observed. */
export function noFacts<C>(): HandshakeFacts<C> {
  return { ...freshAttempt(0), live: 0 }
}

function freshAttempt<C>(attempt: number): Omit<HandshakeFacts<C>, 'live'> {
  return {
    attempt,
    gates: 0,
    learners: 0,
    step: 'none',
    openGates: new Set(),
    openLearners: new Map(),
    measured: new Map(),
    begun: new Set(),
    ordered: [],
  }
}

/** The facts after a message. Late answers, and answers about other versions, change nothing. */
export function observe<C>(
  facts: HandshakeFacts<C>,
  message: HandshakeMessage<C>,
): HandshakeFacts<C> {
  switch (message.kind) {
    case 'started':
      return withOperator(facts, message)
    case 'live':
      return { ...facts, ...NOTHING_SENT, live: message.version }
    case 'gate-opened': {
      const openGates = new Set(facts.openGates).add(`${message.uid}/${message.subtask}`)
      return { ...facts, ...NOTHING_SENT, openGates }
    }
    case 'opened': {
      const openLearners = new Map(facts.openLearners).set(message.slot, message.known)
      return { ...facts, ...NOTHING_SENT, openLearners }
    }
    case 'measured': {
      if (facts.step !== 'measure' || message.version !== facts.live) return facts
      const { slot, kept, constants } = message
      return { ...facts, measured: new Map(facts.measured).set(slot, { kept, constants }) }
    }
    case 'begun':
      if (facts.step !== 'begin' || message.version !== facts.live) return facts
      return { ...facts, begun: new Set(facts.begun).add(message.slot) }
    case 'sent':
      return {
        ...facts,
        step: message.step,
        ordered: message.step === 'begin' ? message.versions : facts.ordered,
      }
  }
}

/** The steps are taken from the first one: for another version, or because a subtask opened again. */
const NOTHING_SENT = { step: 'none', measured: new Map(), begun: new Set<number>() } as const

function withOperator<C>(
  facts: HandshakeFacts<C>,
  { attempt, operator, subtasks }: Extract<HandshakeMessage<C>, { kind: 'started' }>,
): HandshakeFacts<C> {
  const current =
    attempt === facts.attempt ? facts : { ...freshAttempt<C>(attempt), live: facts.live }
  return operator === 'gate'
    ? { ...current, gates: current.gates + subtasks }
    : { ...current, learners: current.learners + subtasks }
}

/** What comes next? `rowsReadable`: every slot can read all rows of the live version. */
export function decideHandshake(
  facts: HandshakeFacts<unknown>,
  rowsReadable: boolean,
): HandshakeDecision {
  const { live, gates, learners, step } = facts
  if (live === 0) return 'no-version'
  if (gates === 0 || facts.openGates.size < gates || facts.openLearners.size < learners) {
    return 'wait-for-subtasks'
  }
  switch (step) {
    case 'none':
      return rowsReadable ? 'measure' : 'wait-for-rows'
    case 'measure':
      return facts.measured.size < learners ? 'wait-for-measured' : 'begin'
    case 'begin':
      return facts.begun.size < learners ? 'wait-for-begun' : 'let-through'
    case 'let-through':
      return 'learning'
  }
}

/** Versions whose deltas every learner can fold, after all have begun; for gates that are let through. */
export function knownVersions({ openLearners, ordered }: HandshakeFacts<unknown>): number[] {
  const [first = [], ...others] = [...openLearners.values()]
  const restored = first.filter((version) => others.every((known) => known.includes(version)))
  return [...new Set([...restored, ...ordered])]
}

/**
 * The constants that all learners begin with: those that some learner has kept, because its rows have
 * been learned since; else what all have measured, merged.
 */
export function agreedConstants<C>(
  { measured }: HandshakeFacts<C>,
  merge: (parts: readonly C[]) => C,
): C {
  const answers = [...measured.values()]
  const kept = answers.find((answer) => answer.kept)
  return kept === undefined ? merge(answers.map(({ constants }) => constants)) : kept.constants
}
