/**
 * Resources that are disposed of together, the last one first. It is the part of `AsyncDisposableStack`
 * that Weir uses, which Node 22 does not have.
 */
export class ResourceStack implements AsyncDisposable {
  private disposals: (() => PromiseLike<void> | void)[] = []

  /** Disposes of a resource with the stack; returns the resource. */
  use<T extends AsyncDisposable>(resource: T): T {
    this.defer(() => resource[Symbol.asyncDispose]())
    return resource
  }

  /** Runs `dispose` with the stack. */
  defer(dispose: () => PromiseLike<void> | void): void {
    this.disposals.push(dispose)
  }

  /** Another stack with the resources; this one is empty then. */
  move(): ResourceStack {
    const moved = new ResourceStack()
    moved.disposals = this.disposals
    this.disposals = []
    return moved
  }

  /** Disposes of all resources, also when some fail; rejects with the failure, or an AggregateError of several. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = []
    for (const dispose of this.disposals.splice(0).reverse()) {
      try {
        await dispose()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length === 1) throw failures[0]
    if (failures.length > 1) throw new AggregateError(failures, 'several resources did not end')
  }
}
