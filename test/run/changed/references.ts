/** A path that a file names, as it stands there. */
export interface Reference {
  /** Relative to the file if it begins with a dot, else to the file or to the root of the repository. */
  readonly path: string
  /** Whether the path is a module that is loaded with the file or by `import()`. */
  readonly isImport: boolean
}

/** A string without blanks, in any quotes; of a template, what stands before its first expression. */
const STRING =
  /(\b(?:from|import)\s*\(?\s*)?(?:'([\w@./-]+)'|"([\w@./-]+)"|`([\w@./-]+)(?:`|(\$\{)))/g

/** A call that joins a folder and names, or lists what is below folders. */
const CALL =
  /\b(?:join|resolve|below|filesOf)\(\s*(?:([A-Z]\w*|import\.meta\.dirname),\s*)?('[\w./-]+'(?:,\s*'[\w./-]+')*)/g

/** A link of a page, or a path in backticks. */
const LINK = /\]\((?!\w+:)([\w./-]+)[^)]*\)|`((?:src|test|benchmarks|verify|scripts)\/[\w./-]+)`/g

/** Comments that begin a line. Others may be strings with stars. */
const COMMENT = /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm

/** The paths that a source file names: imports and exports, strings, and folders that it joins with names. */
export function referencesOf(source: string): readonly Reference[] {
  const text = source.replaceAll(COMMENT, '')
  const strings = [...text.matchAll(STRING)].flatMap(
    ([, loads, single, double, template, open]) => {
      const path = single ?? double ?? template!
      if (open !== undefined) return foldersOf(path)
      return [{ path, isImport: loads !== undefined }]
    },
  )
  return [...strings.filter(({ path, isImport }) => isImport || isPath(path)), ...joined(text)]
}

/** The paths that a page names: links and paths in backticks. */
export function linksOf(page: string): readonly Reference[] {
  const found = [...page.matchAll(LINK)]
  return found.map(([, link, path]) => ({ path: path ?? below(link!), isImport: false }))
}

/** Whether a string may be a path: a lone word is none, nor an extension. `LICENSE` is. */
function isPath(text: string): boolean {
  return /^(?!\.\w+$).*[./]/.test(text) || /^[A-Z]+$/.test(text)
}

/** The folder of a path that ends within a template. */
function foldersOf(start: string): readonly Reference[] {
  const folder = start.slice(0, start.lastIndexOf('/') + 1)
  return folder === '' ? [] : [{ path: folder, isImport: false }]
}

/** The paths that calls make of names. A list of folders gives the first one joined and each one alone. */
function joined(text: string): readonly Reference[] {
  return [...text.matchAll(CALL)].flatMap(([call, base, list]) => {
    const names = [...list!.matchAll(/'([^']+)'/g)].map(([, name]) => name!)
    const paths = call.startsWith('filesOf') ? names : [names.join('/')]
    const isHere = base === 'import.meta.dirname'
    return paths.map((path) => ({ path: isHere ? below(path) : path, isImport: false }))
  })
}

/** A path relative to the file that names it. */
function below(path: string): string {
  return path.startsWith('.') ? path : `./${path}`
}
