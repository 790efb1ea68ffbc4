import { createBrowserClient } from '@gatehouse/client'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/avatar.css'
import './styles/status.css'
import './styles/layout.css'
import './styles/dialog.css'
import './styles/auth.css'
import './styles/home.css'
import { App } from './app.tsx'
import { AppContext } from './context.ts'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')

const context: AppContext = { client: createBrowserClient(), now: () => Date.now(), random: () => Math.random() }
createRoot(root).render(
  <StrictMode>
    <AppContext value={context}>
      <App />
    </AppContext>
  </StrictMode>,
)
