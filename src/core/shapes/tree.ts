import { MOST_FIELDS, MOST_SHAPES } from './shape.ts'

/** MessagePack reads this name back under another one. */
const NEVER = '__proto__'

/** A prefix of the names of some shapes; for each shape something of type `Made` can be made. */
export class ShapeNode<Made> {
  /** Number of the shape that ends here, -1 for none. */
  id = -1
  /** What was made for the shape that ends here. */
  made: Made | undefined
  readonly depth: number
  /**
   * The name by which the last search went on, which most objects have next. Before, it is one that leads nowhere: names
   * of which one may be undefined are compared by a call out of compiled code.
   */
  lastName = NEVER
  lastNode: ShapeNode<Made> | undefined
  readonly nodes = new Map<string, ShapeNode<Made>>()

  constructor(depth: number) {
    this.depth = depth
  }
}

/** Most nodes: with more, objects are dictionaries, and their names say nothing about the next ones. */
const MOST_NODES = 4096

/** The shapes of one stream by the names of their fields, in order. */
export class ShapeTree<Made> {
  private readonly root = new ShapeNode<Made>(0)
  private readonly ends: ShapeNode<Made>[] = []
  private nodes = 1

  /** Number of shapes. */
  get size(): number {
    return this.ends.length
  }

  /** The node of an object's names; undefined when the object is no record. */
  find(value: object): ShapeNode<Made> | undefined {
    let node: ShapeNode<Made> | undefined = this.root
    for (const name in value) {
      node = name === node.lastName ? node.lastNode : this.next(node, name)
      if (node === undefined) return undefined
    }
    return node
  }

  /** Gives the next number to the shape that ends at a node; false when there are too many. */
  add(node: ShapeNode<Made>): boolean {
    if (this.ends.length === MOST_SHAPES) return false
    node.id = this.ends.length
    this.ends.push(node)
    return true
  }

  /** Removes the shapes from number `size` on. */
  cutTo(size: number): void {
    while (this.ends.length > size) this.ends.pop()!.id = -1
  }

  private next(from: ShapeNode<Made>, name: string): ShapeNode<Made> | undefined {
    if (from.depth === MOST_FIELDS || name === NEVER) return undefined
    let node = from.nodes.get(name)
    if (node === undefined) {
      if (this.nodes === MOST_NODES) return undefined
      this.nodes += 1
      node = new ShapeNode<Made>(from.depth + 1)
      from.nodes.set(name, node)
    }
    from.lastName = name
    from.lastNode = node
    return node
  }
}
