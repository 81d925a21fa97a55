import type { Graph } from './graph.ts'
import type { Operation, Rule } from './operation.ts'
import { isSameSize, knownSize, type Size } from './size.ts'
import {
  fixedTensor,
  isFixed,
  itemTensor,
  Mixing,
  type TracedTensor,
  type TracedValue,
} from './traced-value.ts'

/** Most rounds until what is known of the states of a loop no longer changes. */
const ROUNDS = 8

/** `If`: the condition must not come from the items; both branches must keep them along the same axis. */
export const branch: Rule = (operation) => {
  if (operation.isOfItems) throw operation.mixing('branches on the items')
  const resultsOf = (name: string): TracedTensor[] =>
    tensorsOf(operation.trace(graphOf(operation, name), []))
  const [condition] = operation.input(0).numbers ?? []
  const known = condition === undefined ? undefined : knownSize(condition)
  if (known !== undefined) return resultsOf(known === 0 ? 'else_branch' : 'then_branch')
  const [first, second] = [resultsOf('then_branch'), resultsOf('else_branch')]
  return first.map((tensor, i) => joined(operation, tensor, second[i]!))
}

/** `Loop`: a number of rounds and a condition that do not come from the items, and states that keep them. */
export const loop: Rule = (operation) => {
  for (const i of [0, 1]) operation.fixed(i)
  const body = graphOf(operation, 'body')
  const first = statesOf(operation, 2, operation.inputs.length)
  const { states, outputs } = settled(operation, first, (states) => {
    const [condition, ...rest] = tensorsOf(
      operation.trace(body, [fixedTensor([]), fixedTensor([]), ...states]),
    )
    if (!isFixed(condition!)) throw operation.mixing('branches on the items')
    return rest
  })
  const scanned = outputs.map((tensor) => withAxis(tensor, 0, operation.anySize()))
  return [...states, ...scanned]
}

/** `Scan`: rounds along an axis that is not that of the items. */
export const scan: Rule = (operation) => {
  const count = operation.number('num_scan_inputs', 0)
  if (operation.opset < 9 || count === 0) throw operation.mixing('is of an old operator set')
  operation.requireNoCounts()
  const at = operation.inputs.length - count
  const inAxes = operation.numbers('scan_input_axes') ?? []
  const slices = Array.from({ length: count }, (_, i) => {
    const rank = operation.shape(at + i).length
    return withoutAxis(operation, operation.input(at + i), operation.axis(inAxes[i] ?? 0, rank))
  })
  const { states, outputs } = settled(operation, statesOf(operation, 0, at), (states) =>
    tensorsOf(operation.trace(graphOf(operation, 'body'), [...states, ...slices])),
  )
  const outAxes = operation.numbers('scan_output_axes') ?? []
  const scanned = outputs.map((tensor, i) =>
    withAxis(
      tensor,
      operation.axis(outAxes[i] ?? 0, (tensor.shape?.length ?? 0) + 1),
      operation.anySize(),
    ),
  )
  return [...states, ...scanned]
}

function graphOf(operation: Operation, name: string): Graph {
  const graph = operation.node.attributes.get(name)?.graph
  if (graph !== undefined) return graph
  throw operation.mixing(`lacks its ${name}`)
}

function tensorsOf(values: readonly TracedValue[]): TracedTensor[] {
  return values.map((value) => {
    if (value instanceof Mixing) throw value
    return value
  })
}

/** The first states of a loop, whose elements change from round to round. */
function statesOf(operation: Operation, from: number, to: number): TracedTensor[] {
  operation.requireNoCounts()
  return Array.from({ length: to - from }, (_, i) => ({
    ...operation.input(from + i),
    numbers: undefined,
  }))
}

/** Runs the body until the states are those of every round. Throws Mixing. */
function settled(
  operation: Operation,
  first: readonly TracedTensor[],
  body: (states: readonly TracedTensor[]) => readonly TracedTensor[],
) {
  let states = first
  for (let round = 0; round < ROUNDS; round++) {
    const made = body(states)
    const next = states.map((state, i) => joined(operation, state, made[i]!, true))
    if (next.every((state, i) => isSame(state, states[i]!))) {
      return { states, outputs: made.slice(states.length) }
    }
    states = next
  }
  throw operation.mixing('has states that cannot be followed')
}

const isSame = (a: TracedTensor, b: TracedTensor): boolean =>
  a.shape === b.shape ||
  (a.shape?.length === b.shape?.length &&
    a.shape!.every((size, d) => isSameSize(size, b.shape![d]!)))

/**
 * What is true of both tensors. `isKept`: a size that stands for any is kept, because a body that was traced with any
 * size holds for the sizes of all rounds. Throws Mixing.
 */
function joined(
  operation: Operation,
  a: TracedTensor,
  b: TracedTensor,
  isKept = false,
): TracedTensor {
  const isCounting = !isFixed({ ...a, items: undefined }) || !isFixed({ ...b, items: undefined })
  if (isCounting) throw operation.mixing('computes with the number of items')
  const isAlike =
    a.items?.axis === b.items?.axis &&
    (a.items === undefined || isSameSize(a.items.outer, b.items!.outer))
  if (!isAlike) throw operation.mixing('has the items along an axis in one branch only')
  if (a.shape === undefined || b.shape === undefined || a.shape.length !== b.shape.length) {
    if (a.items === undefined) return fixedTensor()
    throw operation.mixing('gives tensors of two ranks')
  }
  const shape = a.shape.map((size, d) => {
    const other = b.shape![d]!
    if (isSameSize(size, other)) return size
    if (size.isOfItems || other.isOfItems) throw operation.over(d)
    return isKept && isAny(size) ? size : operation.anySize()
  })
  return a.items === undefined ? fixedTensor(shape) : itemTensor(shape, a.items)
}

const isAny = ({ factor, names }: Size): boolean =>
  factor === 1 && names.length === 1 && names[0]!.startsWith('?')

function withAxis(tensor: TracedTensor, axis: number, size: Size): TracedTensor {
  const { shape, items } = tensor
  if (shape === undefined) return fixedTensor()
  const whole = [...shape.slice(0, axis), size, ...shape.slice(axis)]
  if (items === undefined) return fixedTensor(whole)
  return itemTensor(whole, { ...items, axis: items.axis + (items.axis < axis ? 0 : 1) })
}

function withoutAxis(operation: Operation, tensor: TracedTensor, axis: number): TracedTensor {
  const { shape, items } = tensor
  if (items?.axis === axis) throw operation.over(axis)
  const rest = shape!.filter((_, d) => d !== axis)
  if (items === undefined) return fixedTensor(rest)
  return itemTensor(rest, { ...items, axis: items.axis - (items.axis < axis ? 0 : 1) })
}
