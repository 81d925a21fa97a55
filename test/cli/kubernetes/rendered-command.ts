/** The parts of a rendered StatefulSet that say what runs in a pod. */
interface RenderedSet {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly command: readonly string[]
          readonly args: readonly string[]
        }[]
      }
    }
  }
}

/**
 * The command line of the first container of a StatefulSet in a pod, as Kubernetes makes it: `$(POD_NAME)` is the name of the
 * pod, and `$$` is a dollar sign.
 */
export function renderedCommand(
  { spec }: RenderedSet,
  pod: string,
): { readonly words: readonly string[] } {
  const { command, args } = spec.template.spec.containers[0]!
  const replaced = (word: string): string =>
    word.replace(/\$\$|\$\(POD_NAME\)/g, (found) => (found === '$$' ? '$' : pod))
  return { words: [...command, ...args].map(replaced) }
}
