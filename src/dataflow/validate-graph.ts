import { WeirError } from '../core/errors.ts'
import { MAX_MAX_PARALLELISM } from '../core/key-group.ts'
import { MAX_SOURCES } from '../core/position.ts'
import { DEAD_LETTERS_UID, type EdgeDraft, type GraphDraft, type NodeDraft } from './graph-draft.ts'

/** A finding about a graph. An error stops the job, a warning is shown. */
export interface GraphIssue {
  readonly severity: 'error' | 'warning'
  /** Names the operator and the fix. */
  readonly message: string
}

type Rule = (draft: GraphDraft) => string[]

/** Checks all rules. Findings are in the order of the rules, then of the nodes. */
export function validateDraft(draft: GraphDraft): GraphIssue[] {
  const errors = ERROR_RULES.flatMap((rule) => rule(draft))
  const warnings = WARNING_RULES.flatMap((rule) => rule(draft))
  return [
    ...errors.map((message): GraphIssue => ({ severity: 'error', message })),
    ...warnings.map((message): GraphIssue => ({ severity: 'warning', message })),
  ]
}

/** Throws INVALID_GRAPH with the messages of all errors, if there are any. */
export function refuseErrors(issues: readonly GraphIssue[]): void {
  const errors = issues.filter((issue) => issue.severity === 'error')
  if (errors.length === 0) return
  throw new WeirError('INVALID_GRAPH', errors.map((issue) => issue.message).join('\n'), {
    details: { errors: errors.length },
  })
}

const label = (node: NodeDraft): string =>
  node.uid === undefined ? `operator "${node.name}"` : `operator "${node.name}" (uid "${node.uid}")`

function missingSource(draft: GraphDraft): string[] {
  return draft.nodes.some((node) => node.spec.inputs === 0)
    ? []
    : ['the job has no source: begin with fromSource(...)']
}

function tooManySources(draft: GraphDraft): string[] {
  const sources = draft.nodes.filter((node) => node.spec.inputs === 0).length
  return sources <= MAX_SOURCES
    ? []
    : [
        `the job has ${sources} sources: a position can name one of ${MAX_SOURCES}; split the job into several`,
      ]
}

function badUid(draft: GraphDraft): string[] {
  return draft.nodes.flatMap(({ name, uid }) =>
    uid === undefined || /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(uid)
      ? []
      : [
          `operator "${name}" has the uid "${uid}": a uid is 1 to 128 letters, digits, ".", "_" or "-" and begins with a letter or digit`,
        ],
  )
}

function duplicateUid(draft: GraphDraft): string[] {
  const first = new Map<string, NodeDraft>()
  return draft.nodes.flatMap((node) => {
    if (node.uid === undefined) return []
    const other = first.get(node.uid)
    if (other === undefined) first.set(node.uid, node)
    return other === undefined
      ? []
      : [
          `operators "${other.name}" and "${node.name}" both have the uid "${node.uid}": give each its own uid, because a restore finds state by uid`,
        ]
  })
}

function takenUid(draft: GraphDraft): string[] {
  if (typeof draft.onError !== 'object') return []
  return draft.nodes.flatMap(({ name, uid }) =>
    uid === DEAD_LETTERS_UID
      ? [
          `operator "${name}" has the uid "${uid}" of the dead letters of the job: give it another one`,
        ]
      : [],
  )
}

function badParallelism(draft: GraphDraft): string[] {
  return draft.nodes.flatMap((node) => {
    const parallelism = draft.parallelismOf(node)
    if (!Number.isInteger(parallelism) || parallelism < 1) {
      return [
        `${label(node)} has parallelism ${parallelism}: it must be a whole number from 1, set it with setParallelism(...)`,
      ]
    }
    const max = draft.maxParallelismOf(node)
    if (!Number.isInteger(max) || max < 1 || max > MAX_MAX_PARALLELISM) {
      return [
        `${label(node)} has max parallelism ${max}: it must be a whole number from 1 to ${MAX_MAX_PARALLELISM}, set it with setMaxParallelism(...)`,
      ]
    }
    return parallelism <= max
      ? []
      : [
          `${label(node)} has parallelism ${parallelism} above its max parallelism ${max}: lower the one or raise the other with setMaxParallelism(...)`,
        ]
  })
}

function unequalForward(draft: GraphDraft): string[] {
  return draft.edges.flatMap((edge) => {
    if (edge.partitioning?.kind !== 'forward') return []
    const from = draft.parallelismOf(edge.node)
    const to = draft.parallelismOf(edge.to)
    return from === to
      ? []
      : [
          `forward() from ${label(edge.node)} with parallelism ${from} to ${label(edge.to)} with parallelism ${to}: set the same parallelism, or use rebalance()`,
        ]
  })
}

function danglingSideOutput(draft: GraphDraft): string[] {
  return draft.sideStreams.flatMap(({ node, tag }) => {
    const emitted = emittedBy(node)
    if (emitted === 'any' || emitted.includes(tag.id)) return []
    const known = emitted.map((id) => `"${id}"`).join(', ')
    return [
      emitted.length === 0
        ? `getSideOutput("${tag.id}") of ${label(node)}, which has no side outputs: emit to the tag in process(...), or declare it with sideOutputLateData(...) of a window`
        : `getSideOutput("${tag.id}") of ${label(node)}, which emits only ${known}: use one of these, or declare the tag in the function's sideOutputs`,
    ]
  })
}

/** Ids of the side outputs of a node. */
function emittedBy({ spec: { sideOutputs = [] }, onError }: NodeDraft): readonly string[] | 'any' {
  if (sideOutputs === 'any' || typeof onError !== 'object') return sideOutputs
  return [...sideOutputs, onError.id]
}

/** Records that fail would get lost if no one read them. */
function unreadFailures(draft: GraphDraft): string[] {
  return draft.nodes.flatMap((node) => {
    const { onError } = node
    if (typeof onError !== 'object') return []
    return draft.sideStreams.some((side) => side.node === node && side.tag.id === onError.id)
      ? []
      : [
          `onError(new OutputTag("${onError.id}")) of ${label(node)}, whose side output no operator reads: read it with getSideOutput, or use onError('skip')`,
        ]
  })
}

function conflictingSideOutput(draft: GraphDraft): string[] {
  const serializers = new Map<string, string>()
  return draft.sideStreams.flatMap(({ node, tag }) => {
    const key = `${node.id} ${tag.id}`
    const known = serializers.get(key) ?? tag.serializer.id
    serializers.set(key, known)
    return known === tag.serializer.id
      ? []
      : [
          `the side output "${tag.id}" of ${label(node)} is read with the serializers ${known} and ${tag.serializer.id}: use one OutputTag object everywhere`,
        ]
  })
}

const isKeyed = (draft: GraphDraft, node: NodeDraft): boolean =>
  draft.edgesInto(node).some((edge) => edge.partitioning?.kind === 'hash')

function stateWithoutKey(draft: GraphDraft): string[] {
  return draft.nodes.flatMap((node) => {
    if (isKeyed(draft, node)) return []
    if (node.spec.needsKey === true) {
      return [
        `${label(node)} uses keyed state but its input is not keyed: call keyBy(...) before it`,
      ]
    }
    return node.spec.hasOnTimer === true
      ? [
          `the function of ${label(node)} has an onTimer, but its input is not keyed and timers belong to keys: call keyBy(...) before process(...)`,
        ]
      : []
  })
}

function ownUnion(draft: GraphDraft): string[] {
  const seen = new Set<string>()
  return draft.edges.flatMap((edge) => {
    const key = [edge.to.id, edge.input, edge.node.id, edge.tag?.id ?? ''].join(' ')
    if (!seen.has(key)) {
      seen.add(key)
      return []
    }
    return [
      `the union into ${label(edge.to)} reads the stream of ${label(edge.node)} twice: every record would arrive twice, so remove one of the two`,
    ]
  })
}

function missingEventTime(draft: GraphDraft): string[] {
  return draft.nodes.flatMap((node) =>
    node.spec.needsEventTime === true && !draft.hasEventTime(node)
      ? [
          `${label(node)} works in event time, but not all of its inputs have watermarks: give fromSource, or the table by its option watermarks, a strategy such as boundedOutOfOrderness(...), or call assignTimestampsAndWatermarks before it`,
        ]
      : [],
  )
}

function unequalMaxParallelism(draft: GraphDraft): string[] {
  return draft.edges.flatMap((edge: EdgeDraft) => {
    const keyed = isKeyed(draft, edge.node) || isKeyed(draft, edge.to)
    if (!keyed || !draft.isForward(edge)) return []
    const from = draft.maxParallelismOf(edge.node)
    const to = draft.maxParallelismOf(edge.to)
    return from === to
      ? []
      : [
          `${label(edge.node)} has max parallelism ${from} and ${label(edge.to)}, joined to it by a forward edge, has ${to}: their key groups would be in different subtasks, so set the same setMaxParallelism(...) or put rebalance() between them`,
        ]
  })
}

function movedInPlace(draft: GraphDraft): string[] {
  return draft.edges.flatMap(({ node, to, partitioning }) => {
    if (partitioning?.kind !== 'hash' || !partitioning.inPlace) return []
    const parallelism = [to, node].map((each) => draft.parallelismOf(each))
    return parallelism[0] === parallelism[1]
      ? []
      : [
          `${label(to)} reads the stream of ${label(node)} as already keyed, but they have the parallelism ${parallelism.join(' and ')}: set the same setParallelism(...) or call keyBy(...) instead`,
        ]
  })
}

function unequalKeyedInputs(draft: GraphDraft): string[] {
  return draft.nodes.flatMap((node) => {
    const ids = new Set(
      draft
        .edgesInto(node)
        .flatMap(({ partitioning }) =>
          partitioning?.kind === 'hash' ? [partitioning.keySerializer.id] : [],
        ),
    )
    return ids.size < 2
      ? []
      : [
          `${label(node)} connects streams whose keys have the serializers ${[...ids].join(' and ')}: equal keys would have different bytes, so give keyBy(...) the same serializer on both sides`,
        ]
  })
}

/** Records may come before the broadcast rules that they need, in another order in each run. */
function undefinedOrder(draft: GraphDraft): string[] {
  return draft.edges.flatMap(({ partitioning, to, order }) =>
    partitioning?.kind !== 'broadcast' || to.spec.inputs < 2 || order !== undefined
      ? []
      : [
          `${label(to)} reads its broadcast stream and the other one in no defined order, so that records may come before it: connect(..., { wait: 'loaded' }) reads it first; { wait: 'nothing' } says that no order is needed`,
        ],
  )
}

/** A stream that waits for a table of its own source would wait forever, as would sources that wait for each other. */
function endlessTables(draft: GraphDraft): string[] {
  const tables = new Map<NodeDraft, Set<NodeDraft>>()
  return draft.nodes.flatMap((node) => {
    const edges = draft.edgesInto(node)
    const first = edges.filter(({ order }) => order === 'first')
    if (first.length === 0) return []
    const rest = edges.filter(({ order }) => order !== 'first')
    for (const source of sourcesOf(draft, rest)) {
      const known = tables.get(source) ?? new Set()
      tables.set(source, new Set([...known, ...sourcesOf(draft, first)]))
    }
    const endless = [...tables.keys()].find((source) => waitsForItself(source, tables))
    return endless === undefined
      ? []
      : [
          `${label(node)} waits until its table is loaded, but ${label(endless)} would then wait for its own records: read the table from a source of its own, or do not wait for it`,
        ]
  })
}

function waitsForItself(
  source: NodeDraft,
  tables: ReadonlyMap<NodeDraft, ReadonlySet<NodeDraft>>,
): boolean {
  const reached = new Set(tables.get(source))
  // A set has what is added to it while it is walked.
  for (const table of reached) for (const next of tables.get(table) ?? []) reached.add(next)
  return reached.has(source)
}

/** The sources behind edges. */
function sourcesOf(draft: GraphDraft, edges: readonly EdgeDraft[]): Set<NodeDraft> {
  const behind = new Set<NodeDraft>()
  const visit = ({ node }: EdgeDraft): void => {
    if (behind.has(node)) return
    behind.add(node)
    for (const edge of draft.edgesInto(node)) visit(edge)
  }
  for (const edge of edges) visit(edge)
  return new Set([...behind].filter(({ spec }) => spec.inputs === 0))
}

function sinkAsInput(draft: GraphDraft): string[] {
  return draft.edges.flatMap((edge) =>
    edge.node.spec.isSink === true
      ? [
          `${label(edge.to)} reads from ${label(edge.node)}, which is a sink and emits nothing: read from the stream before it`,
        ]
      : [],
  )
}

function conflictingBroadcastState(draft: GraphDraft): string[] {
  return draft.nodes.flatMap((node) => {
    const formats = new Map<string, string>()
    return (node.spec.broadcastStates ?? []).flatMap((state) => {
      const format = `${state.keySerializer.id}, ${state.serializer.id}`
      const known = formats.get(state.name)
      formats.set(state.name, format)
      if (known === undefined) return []
      return [
        known === format
          ? `broadcast(...) before ${label(node)} lists the state "${state.name}" twice: remove one`
          : `broadcast(...) before ${label(node)} lists the state "${state.name}" with the serializers ${known} and ${format}: give each state its own name`,
      ]
    })
  })
}

function unusedStream(draft: GraphDraft): string[] {
  const main = draft.nodes.flatMap((node) =>
    node.spec.isSink === true || node.discarded || draft.edgesOutOf(node).length > 0
      ? []
      : [
          `no operator reads the stream of ${label(node)}: end it with sinkTo(...), asQueryableState(...) or discard(), or remove the operator`,
        ],
  )
  const side = draft.sideStreams.flatMap(({ node, tag }) =>
    draft.edgesOutOf(node).some((edge) => edge.tag?.id === tag.id)
      ? []
      : [
          `no operator reads the side output "${tag.id}" of ${label(node)}: end it with sinkTo(...), or remove getSideOutput`,
        ],
  )
  return [...main, ...side]
}

/** To add a record to so many windows takes some 50 ms, in which a slot does nothing else. */
const MOST_WINDOWS = 1000

function manyWindows(draft: GraphDraft): string[] {
  return draft.nodes.flatMap((node) => {
    const windows = node.spec.windowsOfRecord ?? 0
    return windows <= MOST_WINDOWS
      ? []
      : [
          `${label(node)} adds each record to ${windows.toLocaleString('en')} windows, each with a copy of it: make the slide larger, or use aggregate(...) or a reduce(...) that is declared associative, which keep one sum for each slide`,
        ]
  })
}

const ERROR_RULES: readonly Rule[] = [
  unreadFailures,
  missingSource,
  tooManySources,
  badUid,
  duplicateUid,
  takenUid,
  badParallelism,
  unequalForward,
  danglingSideOutput,
  conflictingSideOutput,
  stateWithoutKey,
  ownUnion,
  missingEventTime,
  unequalMaxParallelism,
  movedInPlace,
  unequalKeyedInputs,
  sinkAsInput,
  endlessTables,
  conflictingBroadcastState,
]

const WARNING_RULES: readonly Rule[] = [unusedStream, manyWindows, undefinedOrder]
