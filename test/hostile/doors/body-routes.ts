/** A route of HTTP that takes a body, with values in place of its parameters. */
export interface BodyRoute {
  readonly method: string
  readonly path: string
}

/** What a document of OpenAPI says of each path and method. */
export interface RouteDocument {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/** The routes of a document that take bodies. `parameterOf`: a value of a parameter of a path. */
export function bodyRoutesOf(
  { paths = {} }: RouteDocument,
  parameterOf: (parameter: string) => string,
): readonly BodyRoute[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      if (!('requestBody' in operation)) return []
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameterOf(name))
      return [{ method: method.toUpperCase(), path: filled }]
    }),
  )
}
