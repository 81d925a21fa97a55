import type { Graph, GraphNode, ModelGraph } from './graph.ts'
import { Operation } from './operation.ts'
import { isRandom, ruleOf } from './operator-table.ts'
import { sizeOf } from './size.ts'
import {
  fixedTensor,
  isFixed,
  Mixing,
  type TracedTensor,
  type TracedValue,
} from './traced-value.ts'

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
export class GraphTrace {
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
