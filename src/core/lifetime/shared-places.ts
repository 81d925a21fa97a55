/**
 * Places of which one client has at most half, so that none takes them all and locks the others out. Who has no name has
 * no share.
 */
export class SharedPlaces {
  readonly most: number
  /** Places of one client. */
  readonly mostOfClient: number
  private readonly byClient = new Map<string, number>()
  private count = 0

  constructor(most: number) {
    this.most = most
    this.mostOfClient = Math.ceil(most / 2)
  }

  /** Places that are taken. */
  get taken(): number {
    return this.count
  }

  /** Takes a place. Returns what has none left, `all` or the `share` of the client; undefined when it is taken. */
  take(client: string | undefined): 'all' | 'share' | undefined {
    if (this.count >= this.most) return 'all'
    if (client !== undefined) {
      const own = this.byClient.get(client) ?? 0
      if (own >= this.mostOfClient) return 'share'
      this.byClient.set(client, own + 1)
    }
    this.count += 1
    return undefined
  }

  /** Gives a place back. */
  give(client: string | undefined): void {
    this.count -= 1
    if (client === undefined) return
    const left = (this.byClient.get(client) ?? 1) - 1
    if (left > 0) this.byClient.set(client, left)
    else this.byClient.delete(client)
  }
}
