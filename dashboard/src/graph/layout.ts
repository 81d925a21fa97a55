/** A node of the job graph and the nodes that send to it. */
export interface GraphNode {
  readonly id: string
  readonly inputs: readonly string[]
}

/** Sizes of the drawing, pixels. */
export interface LayoutOptions {
  /** Layers from left to right, or one box below the other, for narrow screens. */
  readonly direction: 'right' | 'column'
  readonly width: number
  readonly height: number
  /** Room between two layers, where the edges and their labels are. */
  readonly layerGap: number
  readonly gap: number
}

/** Place of the top left corner of a box. */
export interface Place {
  readonly x: number
  readonly y: number
}

/** Places of all boxes, and the size of the drawing. */
export interface Layout {
  readonly places: ReadonlyMap<string, Place>
  readonly width: number
  readonly height: number
}

/**
 * Draws a graph in layers: a node is one layer after the last of its inputs, and within a layer near the
 * middle of its inputs. Inputs that are not in the graph, and those that would close a circle, are left out.
 */
export function layoutOf(nodes: readonly GraphNode[], options: LayoutOptions): Layout {
  const layers = orderedLayers(nodes)
  const { direction, width, height, layerGap, gap } = options
  if (direction === 'column') return columnOf(layers.flat(), options)
  const most = Math.max(1, ...layers.map((layer) => layer.length))
  const breadth = breadthOf(most, height, gap)
  const places = new Map<string, Place>()
  for (const [depth, layer] of layers.entries()) {
    const top = (breadth - breadthOf(layer.length, height, gap)) / 2
    for (const [index, id] of layer.entries()) {
      places.set(id, { x: depth * (width + layerGap), y: top + index * (height + gap) })
    }
  }
  return { places, width: breadthOf(layers.length, width, layerGap), height: breadth }
}

/** All boxes one below the other; the edges run on their left, in a margin as wide as the gap of layers. */
function columnOf(ids: readonly string[], { width, height, layerGap, gap }: LayoutOptions): Layout {
  const places = new Map(ids.map((id, i) => [id, { x: layerGap, y: i * (height + gap) }]))
  return { places, width: layerGap + width, height: breadthOf(ids.length, height, gap) }
}

/** Length of boxes in a row with gaps between them. */
function breadthOf(boxes: number, size: number, gap: number): number {
  return boxes * size + Math.max(0, boxes - 1) * gap
}

/** Ids of the nodes of each layer, in drawing order. */
export function orderedLayers(nodes: readonly GraphNode[]): string[][] {
  const depths = depthsOf(nodes)
  const layers: GraphNode[][] = []
  for (const node of nodes) {
    const depth = depths.get(node.id)!
    while (layers.length <= depth) layers.push([])
    layers[depth]!.push(node)
  }
  const positions = new Map<string, number>()
  return layers.map((layer) => {
    const ordered = layer
      .map((node, index) => ({ id: node.id, at: middleOf(node, positions) ?? index, index }))
      .sort((a, b) => a.at - b.at || a.index - b.index)
    for (const [index, { id }] of ordered.entries()) positions.set(id, index)
    return ordered.map(({ id }) => id)
  })
}

function middleOf(
  { inputs }: GraphNode,
  positions: ReadonlyMap<string, number>,
): number | undefined {
  const known = inputs.map((id) => positions.get(id)).filter((at) => at !== undefined)
  if (known.length === 0) return undefined
  return known.reduce((sum, at) => sum + at, 0) / known.length
}

/** Length of the longest path to each node. */
function depthsOf(nodes: readonly GraphNode[]): ReadonlyMap<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const depths = new Map<string, number>()
  const open = new Set<string>()
  const depthOf = (node: GraphNode): number => {
    const known = depths.get(node.id)
    if (known !== undefined) return known
    open.add(node.id)
    const before = node.inputs
      .map((id) => byId.get(id))
      .filter((input) => input !== undefined && !open.has(input.id))
    const depth = Math.max(-1, ...before.map((input) => depthOf(input!))) + 1
    open.delete(node.id)
    depths.set(node.id, depth)
    return depth
  }
  for (const node of nodes) depthOf(node)
  return depths
}
