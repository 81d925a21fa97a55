import { useState } from 'preact/hooks'
import type { Recommendations } from '../data/job-data.ts'
import { useKnownItems } from '../data/known-items.ts'
import { useRequested } from '../data/requested.ts'
import { jobHref } from '../data/route.ts'
import { idsOf } from '../data/similarity.ts'
import { parseTitles, titles } from '../data/titles.ts'
import { durationText } from '../format.ts'
import { Because } from '../parts/because.tsx'
import { Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

/** Parts of the playground. */
export interface RecommendationsPageProps {
  readonly id: string
  readonly user: string | undefined
}

/** Numbers of items that the reader may choose. */
const COUNTS = [5, 10, 20, 50]

/** A playground: a user in, the best items out, and which of the user's items they resemble. */
export function RecommendationsPage({ id, user }: RecommendationsPageProps) {
  const [count, setCount] = useState(10)
  const [named, setNamed] = useState('')
  const histories = useKnownItems(user)
  const known = named.trim() === '' ? histories.items : idsOf(named)
  const show = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const asked = String(form.get('user') ?? '').trim()
    if (asked !== '') location.hash = jobHref(id, 'recommendations', asked)
  }
  return (
    <>
      <form class="card fields" onSubmit={show}>
        <p>
          <label for="user">User</label>
          <input
            id="user"
            name="user"
            key={user}
            defaultValue={user ?? ''}
            autocomplete="off"
            placeholder="1"
          />
          <button type="submit">Recommend</button>
        </p>
        <p>
          <label for="count">Items</label>
          <select
            id="count"
            value={count}
            onChange={({ currentTarget }) => setCount(Number(currentTarget.value))}
          >
            {COUNTS.map((number) => (
              <option key={number} value={number}>
                {number}
              </option>
            ))}
          </select>
        </p>
        <p>
          <label for="known">Items that the user knows</label>
          <input
            id="known"
            value={named}
            onInput={({ currentTarget }) => setNamed(currentTarget.value)}
            autocomplete="off"
            placeholder={histories.hasJob ? 'those of the histories' : '50, 172'}
            aria-describedby="known-help"
          />
        </p>
        <TitlesField />
        <p class="quiet wide" id="known-help">
          {histories.hasJob
            ? 'The job of histories knows the items of each user; name others to replace them.'
            : 'No job of histories runs (weir run histories): name items of the user.'}{' '}
          Each recommendation shows which of them it resembles most: the cosine of their rows.
        </p>
      </form>
      {user === undefined ? (
        <p class="quiet">Enter the id of a user.</p>
      ) : (
        <Items id={id} user={user} count={count} known={known} />
      )}
    </>
  )
}

function TitlesField() {
  const { size } = titles.value
  const take = async ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    const file = currentTarget.files?.[0]
    if (file !== undefined) titles.value = parseTitles(await file.text())
  }
  return (
    <p>
      <label for="titles">Titles</label>
      <input id="titles" type="file" accept=".csv,.tsv,.txt,.dat,.item" onChange={take} />
      <small class="quiet">
        {size === 0 ? 'lines of id,title; stays in this tab' : `${size} titles`}
      </small>
    </p>
  )
}

interface ItemsProps {
  readonly id: string
  readonly user: string
  readonly count: number
  readonly known: readonly string[]
}

function Items({ id, user, count, known }: ItemsProps) {
  const query = new URLSearchParams({ user, k: String(count) })
  const { data, error, isComing, again } = useRequested<Recommendations>(
    `/weir/jobs/${id}/recommendations?${query}`,
  )
  if (data === undefined) return <Notice error={error} />
  const { items, modelVersion, isUserKnown, envelope } = data
  return (
    <section class="card" aria-labelledby="items">
      <div class="heading">
        <h2 id="items">For user {user}</h2>
        <p class="quiet">
          version {modelVersion}
          {envelope.ageMs < 0 ? '' : `, at most ${durationText(envelope.ageMs)} old`}
        </p>
        <button type="button" disabled={isComing} onClick={again}>
          Ask again
        </button>
      </div>
      {isUserKnown ? null : (
        <p class="notice mild">The model does not know this user: the mean user stands in.</p>
      )}
      {error === undefined ? null : <Notice error={error} />}
      <Table
        caption={`Recommendations for user ${user}`}
        columns={[
          { name: 'Rank', isNumber: true, cell: ({ rank }) => rank },
          {
            name: 'Item',
            cell: ({ item, title }) => (
              <a href={jobHref(id, 'state', `${item}-I`)}>
                {titles.value.get(item) ?? title ?? item}
              </a>
            ),
          },
          { name: 'Score', isNumber: true, cell: ({ score }) => score.toFixed(4) },
          {
            name: 'Because',
            cell: ({ item }) =>
              known.length === 0 ? (
                <span class="quiet">–</span>
              ) : (
                <Because job={id} version={modelVersion} item={item} known={known} />
              ),
          },
        ]}
        rows={items.map((one, i) => ({ ...one, rank: i + 1 }))}
        keyOf={({ item }) => item}
        empty="The model has no item."
      />
    </section>
  )
}
