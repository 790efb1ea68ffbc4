import { createBrowserClient } from '@gatehouse/client'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/status.css'
import './styles/layout.css'
import './styles/auth.css'
import { App } from './app.tsx'
import { AppContext } from './hooks.ts'
import { currentLanguage, loadLanguage, onLanguageChange } from './language/language.ts'
import { giveTextsElements } from './own-texts.ts'
import { FailureBoundary } from './pages/failed-page.tsx'
import { takeFragment } from './providers.ts'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')

takeFragment()
giveTextsElements()
const context: AppContext = { client: createBrowserClient(), now: () => Date.now(), random: () => Math.random() }
const reactRoot = createRoot(root)
// All of it again in another language: no component keeps a text.
const render = () =>
  reactRoot.render(
    <StrictMode key={currentLanguage()}>
      <AppContext value={context}>
        <FailureBoundary>
          <App />
        </FailureBoundary>
      </AppContext>
    </StrictMode>,
  )
onLanguageChange(render)
void loadLanguage().catch(render)
