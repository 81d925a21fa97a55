import type { FastifyInstance, RouteOptions } from 'fastify'

/** A path of routes with its methods. */
interface KnownPath {
  readonly segments: readonly string[]
  readonly methods: Set<string>
}

/** The paths of all routes. It is read only for requests that no route takes. */
export class KnownPaths {
  private readonly paths = new Map<string, KnownPath>()

  /** The paths of the routes that are added to `app` from now on. */
  static of(app: FastifyInstance): KnownPaths {
    const paths = new KnownPaths()
    app.addHook('onRoute', (route) => paths.add(route))
    return paths
  }

  add({ url, method }: Pick<RouteOptions, 'url' | 'method'>): void {
    const path = this.paths.get(url) ?? { segments: url.split('/'), methods: new Set() }
    this.paths.set(url, path)
    for (const one of [method].flat()) path.methods.add(one)
  }

  /**
   * Methods of a path, sorted; none for a path that does not exist. A path that is written out has its own
   * methods only, and not those of a pattern that it matches, too.
   */
  methodsOf(path: string): readonly string[] {
    const segments = path.split('/')
    const matching = [...this.paths.values()].filter((known) => matches(known.segments, segments))
    const fewest = Math.min(...matching.map(openParts))
    const closest = matching.filter((known) => openParts(known) === fewest)
    return [...new Set(closest.flatMap(({ methods }) => [...methods]))].sort()
  }
}

/** Number of segments that stand for any text. */
function openParts({ segments }: KnownPath): number {
  return segments.filter((part) => part.startsWith(':') || part === '*').length
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*'
  if (isOpen ? segments.length < pattern.length : segments.length !== pattern.length) return false
  return pattern.every(
    (part, i) =>
      part === '*' || (part.startsWith(':') && segments[i] !== '') || part === segments[i],
  )
}

/** The path of a URL, without its query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
