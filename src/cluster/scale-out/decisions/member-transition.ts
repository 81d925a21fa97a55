import {
  type AssignmentEvent,
  type ExitReason,
  holdsNothing,
  type JoinAs,
  type MemberAction,
  type MemberEvent,
  type MemberState,
  type MemberStep,
} from './member-state.ts'

/**
 * The next state of a process in its group, and what it must do. What runs goes on through every rebalance;
 * only what the newest assignment does not have stops, the released with a last checkpoint. A process that has
 * lost its membership stops everything without a commit before it joins again, since its partitions may have
 * new owners and a new membership would let it commit. Silence alone takes nothing from it: the coordinator
 * refuses the commits of one that was evicted, so it only waits until an answer says what is true.
 */
export function memberTransition(state: MemberState, event: MemberEvent): MemberStep {
  if (state.membership === 'refused' || state.membership === 'left') return { state, actions: [] }
  const step = react(state, event)
  const isAnswer = ['alive', 'rebalancing', 'assigned'].includes(event.kind)
  return settle(isAnswer && step.state.isHeld ? resumed(step) : step)
}

function react(state: MemberState, event: MemberEvent): MemberStep {
  switch (event.kind) {
    case 'assigned':
      return state.membership === 'fenced' ? { state, actions: [] } : assigned(state, event)
    case 'alive':
      return { state, actions: [] }
    case 'rebalancing':
      return state.membership === 'member'
        ? rejoined({ state, actions: [] })
        : { state, actions: [] }
    case 'unknown-member':
      return fenced(state, 'new')
    case 'illegal-generation':
      return isJoining(state) ? joinedOnceMore(state) : fenced(state, 'same')
    case 'round-over':
      return isJoining(state) ? joinedOnceMore(state) : { state, actions: [] }
    case 'fenced-instance':
      return ended(state, { kind: 'instance-taken' })
    case 'silence':
      return held(state)
    case 'released':
      return released(state, event.partition)
    case 'stopped':
      return {
        state: { ...state, abandoning: less(state.abandoning, event.partition) },
        actions: [],
      }
    case 'failed':
      return failed(state, event.partition, event.retryAtMs)
    case 'warm':
      return warm(state, event.partition)
    case 'probe':
      return probed(state, event.nowMs)
    case 'changed':
      return { state: { ...state, mustRejoin: true }, actions: [] }
    case 'terminate':
      return { state: { ...state, isLeaving: true, mustRejoin: true }, actions: [] }
    case 'grace-over':
      return state.isLeaving && state.membership !== 'fenced'
        ? releaseAll(state)
        : { state, actions: [] }
  }
}

function assigned(state: MemberState, event: AssignmentEvent): MemberStep {
  const { refusal, generation } = event
  if (refusal !== undefined) {
    const step = ended(state, { kind: 'refused', ...refusal })
    return { ...step, state: { ...step.state, membership: 'refused' } }
  }
  const active = new Set(event.active)
  const mine = new Set([...event.active, ...event.release])
  const lost = [...state.running, ...state.releasing].filter((partition) => !mine.has(partition))
  const release = event.release.filter((partition) => state.running.has(partition))
  const done = event.release.some((p) => !state.running.has(p) && !state.releasing.has(p))
  const gone = new Set([...lost, ...release])
  const next: MemberState = {
    ...state,
    membership: 'member',
    generation,
    assigned: active,
    running: new Set([...state.running].filter((partition) => !gone.has(partition))),
    releasing: new Set([...state.releasing, ...release].filter((partition) => mine.has(partition))),
    abandoning: new Set([...state.abandoning, ...lost]),
    warmUps: new Set(event.warmUp),
    warm: new Set([...state.warm].filter((partition) => event.warmUp.includes(partition))),
    mustRejoin: state.mustRejoin || done || event.isEarlier === true,
  }
  return {
    state: next,
    actions: [
      ...acting({ kind: 'abandon', partitions: lost }),
      ...acting({ kind: 'release', partitions: release }),
    ],
  }
}

function fenced(state: MemberState, joinAs: JoinAs): MemberStep {
  const lost = [...state.running, ...state.releasing]
  const next: MemberState = {
    ...state,
    membership: 'fenced',
    generation: undefined,
    assigned: new Set(),
    running: new Set(),
    releasing: new Set(),
    abandoning: new Set([...state.abandoning, ...lost]),
    warmUps: new Set(),
    warm: new Set(),
    mustRejoin: false,
    joinAs: state.membership === 'fenced' && state.joinAs === 'new' ? 'new' : joinAs,
  }
  return { state: next, actions: acting({ kind: 'abandon', partitions: lost }) }
}

/** The process stops everything without a commit and ends. */
function ended(state: MemberState, reason: ExitReason): MemberStep {
  const { state: next, actions } = fenced(state, 'new')
  const leave: MemberAction[] = reason.kind === 'instance-taken' ? [] : [{ kind: 'leave' }]
  return {
    state: { ...next, membership: 'left', isHeld: false },
    actions: [...actions, ...leave, { kind: 'exit', reason }],
  }
}

function held(state: MemberState): MemberStep {
  if (state.isHeld || state.membership === 'fenced') return { state, actions: [] }
  return { state: { ...state, isHeld: true }, actions: [{ kind: 'hold' }] }
}

function resumed({ state, actions }: MemberStep): MemberStep {
  return { state: { ...state, isHeld: false }, actions: [...actions, { kind: 'resume' }] }
}

function released(state: MemberState, partition: number): MemberStep {
  if (!state.releasing.has(partition)) {
    return { state: { ...state, abandoning: less(state.abandoning, partition) }, actions: [] }
  }
  const releasing = less(state.releasing, partition)
  return { state: { ...state, releasing, mustRejoin: true }, actions: [] }
}

function failed(state: MemberState, partition: number, retryAtMs: number): MemberStep {
  const next = {
    ...state,
    running: less(state.running, partition),
    releasing: less(state.releasing, partition),
    abandoning: less(state.abandoning, partition),
    failed: new Map(state.failed).set(partition, retryAtMs),
  }
  return { state: { ...next, mustRejoin: state.membership !== 'fenced' }, actions: [] }
}

function warm(state: MemberState, partition: number): MemberStep {
  const isNews = state.warmUps.has(partition) && !state.warm.has(partition)
  if (!isNews) return { state, actions: [] }
  return {
    state: { ...state, warm: new Set(state.warm).add(partition), mustRejoin: true },
    actions: [],
  }
}

function probed(state: MemberState, nowMs: number): MemberStep {
  const waiting = new Map([...state.failed].filter(([, retryAtMs]) => retryAtMs > nowMs))
  const isNews = waiting.size < state.failed.size
  const isDue = state.warmUps.size > 0 && state.membership === 'member'
  const mustRejoin = state.mustRejoin || isNews || isDue
  return { state: { ...state, failed: waiting, mustRejoin }, actions: [] }
}

function releaseAll(state: MemberState): MemberStep {
  const partitions = [...state.running]
  const next: MemberState = {
    ...state,
    assigned: new Set(),
    running: new Set(),
    releasing: new Set([...state.releasing, ...partitions]),
  }
  return { state: next, actions: acting({ kind: 'release', partitions }) }
}

/** What follows from the state alone: what can start, and whether it is time to join or to leave. */
function settle(step: MemberStep): MemberStep {
  const { state } = step
  if (state.membership === 'refused' || state.membership === 'left') return step
  if (state.isLeaving && holdsNothing(state)) return left(step)
  if (state.membership === 'fenced') return state.abandoning.size > 0 ? step : joinedAgain(step)
  const started = startAssigned(step)
  const isTime = state.membership === 'member' && state.mustRejoin && state.releasing.size === 0
  return isTime ? rejoined(started) : started
}

function left({ state, actions }: MemberStep): MemberStep {
  const leave: MemberAction[] = state.membership === 'fenced' ? [] : [{ kind: 'leave' }]
  return {
    state: { ...state, membership: 'left' },
    actions: [...actions, ...leave, { kind: 'exit', reason: { kind: 'terminated' } }],
  }
}

/** A leaving process starts nothing: what it does not claim is given to others. */
function startAssigned({ state, actions }: MemberStep): MemberStep {
  if (state.membership === 'joining' || state.isLeaving) return { state, actions }
  const { assigned, running, releasing, abandoning, failed } = state
  const partitions = [...assigned].filter(
    (p) => !running.has(p) && !releasing.has(p) && !abandoning.has(p) && !failed.has(p),
  )
  return {
    state: { ...state, running: new Set([...running, ...partitions]) },
    actions: [...actions, ...acting({ kind: 'start', partitions })],
  }
}

function rejoined({ state, actions }: MemberStep): MemberStep {
  const next: MemberState = { ...asClaimed(state), membership: 'rejoining' }
  return { state: next, actions: [...actions, JOIN_SAME] }
}

function joinedOnceMore(state: MemberState): MemberStep {
  return { state: asClaimed(state), actions: [JOIN_SAME] }
}

/** The state with the sending of a JoinGroup: what that does not claim may go to others, and is no longer assigned. */
function asClaimed(state: MemberState): MemberState {
  const assigned = new Set([...state.assigned].filter((p) => state.running.has(p)))
  return { ...state, mustRejoin: false, assigned }
}

function joinedAgain({ state, actions }: MemberStep): MemberStep {
  const join: MemberAction = { kind: 'join', as: state.joinAs }
  return { state: { ...asClaimed(state), membership: 'joining' }, actions: [...actions, join] }
}

const JOIN_SAME: MemberAction = { kind: 'join', as: 'same' }

function isJoining({ membership }: MemberState): boolean {
  return membership === 'joining' || membership === 'rejoining'
}

/** An action about partitions, unless there are none. */
function acting<A extends MemberAction & { readonly partitions: readonly number[] }>(
  action: A,
): MemberAction[] {
  return action.partitions.length === 0 ? [] : [action]
}

function less(set: ReadonlySet<number>, partition: number): ReadonlySet<number> {
  if (!set.has(partition)) return set
  const rest = new Set(set)
  rest.delete(partition)
  return rest
}
