import { useState } from 'preact/hooks'
import { setToken } from '../data/rest.ts'

/** Asks for the token that the server needs. It is kept until the tab is closed. */
export function TokenForm() {
  const [text, setText] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    setToken(text.trim())
  }
  return (
    <form class="card narrow" onSubmit={submit}>
      <h1>Token needed</h1>
      <p>This server answers only with a token. The page keeps it until you close the tab.</p>
      <label for="token">Token</label>
      <input
        id="token"
        type="password"
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" disabled={text.trim() === ''}>
        Continue
      </button>
    </form>
  )
}
