import { messageOf } from '../../core/errors.ts'
import type { ItemAxes } from '../port/signature.ts'
import type { Graph, GraphNode, GraphValue, ModelGraph } from './graph.ts'
import { Operation } from './operation.ts'
import { isRandom, ruleOf } from './operator-table.ts'
import { ITEMS, isSameSize, namedSize, ONE, type Size, sizeOf } from './size.ts'
import {
  countsItems,
  fixedTensor,
  isFixed,
  isPlainAxis,
  itemTensor,
  Mixing,
  type TracedTensor,
  type TracedValue,
} from './traced-value.ts'

/** Whether the rows of a batch are shown to be independent, and along which axes; or why they are not. */
export type Independence =
  | { readonly kind: 'shown'; readonly inputs: ItemAxes; readonly outputs: ItemAxes }
  | { readonly kind: 'unknown'; readonly why: string; readonly inputs: ItemAxes }

/** Names of axes that say that they are those of a batch, wherever they are. */
const BATCH_NAME = /batch/i

/**
 * Shows from the operations of a graph that each row of its outputs depends on one row of its inputs only. `given`: axes
 * of the items that someone has set. Without them, they are the first axes if those are free and have one name, or
 * else the axes whose name has "batch" in it. What is not known counts as a mixture. Pure.
 */
export function independenceOf(model: ModelGraph, given: ItemAxes = {}): Independence {
  const constants = new Set(model.graph.constants.map(({ name }) => name))
  const inputs = model.graph.inputs.filter(({ name }) => !constants.has(name))
  const chosen = choicesOf(inputs, given)
  if (typeof chosen === 'string') return { kind: 'unknown', why: chosen, inputs: {} }
  let first: Independence | undefined
  for (const axes of chosen) {
    const found = traced(model, inputs, axes)
    if (found.kind === 'shown') return found
    first ??= found
  }
  return first ?? { kind: 'unknown', why: 'no axis of an input is free', inputs: {} }
}

/** The axes to try, in this order; or why there are none. */
function choicesOf(inputs: readonly GraphValue[], given: ItemAxes): readonly ItemAxes[] | string {
  if (Object.keys(given).length > 0) return [axesOfFirst(inputs, given)]
  const first = new Map(
    inputs.flatMap(({ name, shape }) =>
      typeof shape?.[0] === 'string' ? [[shape[0], name] as const] : [],
    ),
  )
  const names = [...first.keys()]
  const batch = inputs
    .flatMap(({ shape }) => shape ?? [])
    .filter((size): size is string => typeof size === 'string' && BATCH_NAME.test(size))
  const wanted = new Set([...(names.length === 1 ? names : []), ...batch])
  if (wanted.size > 0) return [...wanted].map((name) => axesNamed(inputs, name))
  if (names.length === 0) return 'no first axis of an input is free'
  const listed = [...first].map(([axis, input]) => `"${axis}" of ${input}`).join(', ')
  return `the first axes of the inputs have different names (${listed})`
}

const isFree = (size: number | string | undefined): boolean => typeof size === 'string'

function axesOfFirst(inputs: readonly GraphValue[], given: ItemAxes): ItemAxes {
  return Object.fromEntries(
    inputs.map(({ name, shape }) => {
      const axis = given[name]
      return [name, axis === undefined ? (isFree(shape?.[0]) ? 0 : null) : axis]
    }),
  )
}

/** The axes with one name; without a name only first axes count, because all that have none look alike. */
function axesNamed(inputs: readonly GraphValue[], wanted: string): ItemAxes {
  return Object.fromEntries(
    inputs.map(({ name, shape }) => {
      const axis = wanted === '' ? (shape?.[0] === '' ? 0 : -1) : (shape?.indexOf(wanted) ?? -1)
      return [name, axis < 0 ? null : axis]
    }),
  )
}

function traced(model: ModelGraph, inputs: readonly GraphValue[], axes: ItemAxes): Independence {
  const unknown = (why: string): Independence => ({ kind: 'unknown', why, inputs: axes })
  try {
    const values = new Map(inputs.map((input) => [input.name, inputValue(input, inputs, axes)]))
    const outputs = new GraphTrace(model).outputsOf(model.graph, values)
    const found: [string, number | null][] = []
    for (const [i, { name }] of model.graph.outputs.entries()) {
      const axis = outputAxis(name, outputs[i]!)
      if (typeof axis === 'string') return unknown(axis)
      found.push([name, axis])
    }
    if (found.every(([, axis]) => axis === null)) return unknown('no output has items')
    return { kind: 'shown', inputs: axes, outputs: Object.fromEntries(found) }
  } catch (error) {
    return unknown(`its graph cannot be followed: ${messageOf(error)}`)
  }
}

/** Throws Mixing when an axis of the items has a name that another axis has, too. */
function inputValue(
  { name, shape }: GraphValue,
  inputs: readonly GraphValue[],
  axes: ItemAxes,
): TracedValue {
  const axis = axes[name] ?? null
  if (shape === undefined) {
    return axis === null ? fixedTensor() : new Mixing(`the input ${name} has no shape`)
  }
  const itemNames = inputs.flatMap((input) => {
    const at = axes[input.name] ?? null
    return at === null ? [] : [input.shape?.[at]]
  })
  const sizes = shape.map((size, d): Size => {
    if (d === axis) return ITEMS
    if (typeof size === 'number') return sizeOf(size)
    return namedSize(size === '' ? `${name}/${d}` : size)
  })
  const isTwice = shape.some(
    (size, d) => d !== axis && size !== '' && isFree(size) && itemNames.includes(size),
  )
  if (isTwice) return new Mixing(`the input ${name} has the items along two axes`)
  return axis === null ? fixedTensor(sizes) : itemTensor(sizes, { axis, outer: ONE })
}

/** The axis of the items of an output; null where it is the same for all; or why they are mixed. */
function outputAxis(name: string, value: TracedValue): number | null | string {
  if (value instanceof Mixing) return value.message
  if (value.items === undefined) {
    return countsItems(value) ? `the output ${name} depends on the number of items` : null
  }
  const isPlain = isPlainAxis(value.shape!, value.items) && isSameSize(value.items.outer, ONE)
  return isPlain ? value.items.axis : `the output ${name} has several rows for each item`
}

/** Values by their name; a branch or a loop sees those around it, too. */
class Scope {
  private readonly values = new Map<string, TracedValue>()
  private readonly outer: Scope | undefined

  constructor(outer?: Scope) {
    this.outer = outer
  }

  set(name: string, value: TracedValue): void {
    this.values.set(name, value)
  }

  get(name: string): TracedValue {
    const value = this.values.get(name) ?? this.outer?.get(name)
    return value ?? new Mixing(`${name} is of no operation`)
  }
}

/** Follows the items of a batch through a graph without running it. */
class GraphTrace {
  private readonly opsets: ReadonlyMap<string, number>
  private sizes = 0

  constructor({ opsets }: Pick<ModelGraph, 'opsets'>) {
    this.opsets = opsets
  }

  /** What the outputs of the graph are, from what its inputs are; inputs that are constants are not among them. */
  outputsOf(graph: Graph, inputs: ReadonlyMap<string, TracedValue>): readonly TracedValue[] {
    const scope = new Scope()
    for (const [name, value] of inputs) scope.set(name, value)
    return this.trace(graph, scope)
  }

  private trace({ constants, nodes, outputs }: Graph, scope: Scope): readonly TracedValue[] {
    for (const { name, shape, values } of constants) {
      scope.set(name, fixedTensor(shape.map(sizeOf), values?.map(sizeOf)))
    }
    for (const node of nodes) {
      const values = this.valuesOf(node, scope)
      node.outputs.forEach((name, i) => {
        scope.set(
          name,
          values[i] ?? new Mixing(`${node.operation} has more outputs than are known`),
        )
      })
    }
    return outputs.map(({ name }) => scope.get(name))
  }

  private valuesOf(node: GraphNode, scope: Scope): readonly TracedValue[] {
    const inputs: (TracedTensor | undefined)[] = []
    for (const name of node.inputs) {
      const value = name === '' ? undefined : scope.get(name)
      if (value instanceof Mixing) return node.outputs.map(() => value)
      inputs.push(value)
    }
    return this.applied(node, inputs, scope)
  }

  private applied(
    node: GraphNode,
    inputs: readonly (TracedTensor | undefined)[],
    scope: Scope,
  ): readonly TracedValue[] {
    const { operation: name, domain, outputs } = node
    const operation = new Operation(node, inputs, {
      opset: this.opsets.get(domain) ?? 1,
      newName: () => `?${this.sizes++}`,
      trace: (graph, values) => {
        const inner = new Scope(scope)
        graph.inputs.forEach((input, i) => {
          if (values[i] !== undefined) inner.set(input.name, values[i])
        })
        return this.trace(graph, inner)
      },
    })
    const rule = ruleOf(domain, name)
    try {
      if (isRandom(domain, name)) throw operation.mixing('draws random numbers')
      if (rule === undefined)
        throw operation.mixing('is no operator whose items are known to stay apart')
      return rule(operation)
    } catch (error) {
      if (!(error instanceof Mixing)) throw error
      const hasGraph = [...node.attributes.values()].some(({ graph }) => graph !== undefined)
      const isApart = inputs.every((input) => input === undefined || isFixed(input))
      const mayForget = isApart && !hasGraph && !isRandom(domain, name)
      return mayForget ? operation.fixedOutputs() : outputs.map(() => error)
    }
  }
}
