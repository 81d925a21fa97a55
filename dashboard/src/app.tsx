import { useEffect } from 'preact/hooks'
import { isConnected, needsToken } from './data/rest.ts'
import { route } from './data/route.ts'
import { delivery } from './data/watched.ts'
import { JobPage } from './pages/job.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { TokenForm } from './parts/token-form.tsx'

/** The dashboard: a bar, and the page that the address names. */
export function App() {
  const shown = route.value
  const subject = shown.page === 'job' ? `${shown.job}/${shown.tab}` : ''
  useEffect(() => scrollTo(0, 0), [subject])
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <a class="brand" href="#/">
          <img src="/icon.svg" alt="" width="24" height="24" /> Weir
        </a>
        <nav aria-label="Pages">
          <a href="#/" aria-current={shown.page === 'overview' ? 'page' : undefined}>
            Jobs
          </a>
        </nav>
        <Connection />
      </header>
      <main id="main" tabIndex={-1}>
        {needsToken.value ? <TokenForm /> : <Page />}
      </main>
    </>
  )
}

function Page() {
  const shown = route.value
  return shown.page === 'overview' ? <OverviewPage /> : <JobPage key={shown.job} route={shown} />
}

function Connection() {
  const isLost = !isConnected.value
  const text = delivery.value === 'events' ? 'live' : 'connected'
  return (
    <p class={isLost ? 'connection lost' : 'connection'} role="status">
      {isLost ? 'connection lost, trying again' : text}
    </p>
  )
}
