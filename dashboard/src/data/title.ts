import { useEffect } from 'preact/hooks'

/** Names the page in the title of the window: what it shows, then `Weir`. */
export function useTitle(shown: string): void {
  useEffect(() => {
    document.title = `${shown} - Weir`
  }, [shown])
}
