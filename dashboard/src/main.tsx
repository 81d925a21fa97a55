import { render } from 'preact'
import { App } from './app.tsx'
import { followAddress } from './data/route.ts'
import { followVisibility } from './data/watched.ts'
import './style.css'

followAddress()
followVisibility()
render(<App />, document.getElementById('app')!)
