import { routes } from '@gatehouse/client/routes'
import { Component, type ReactNode } from 'react'
import { Button } from '../components/button.tsx'
import { useClient } from '../hooks.ts'
import { t } from '../language/language.ts'

type Props = { children: ReactNode }

/** Shows a page with ways out where its children fail to render: the root would stay empty. */
export class FailureBoundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError = () => ({ hasFailed: true })

  /** The console shows the file and the line. */
  override componentDidCatch(error: Error): void {
    reportError(error)
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <FailedPage /> : this.props.children
  }
}

/** Made of little, since a part of the other pages has failed. */
function FailedPage() {
  const client = useClient()
  const logOut = () => {
    client.logOut()
    location.assign(routes.login)
  }
  return (
    <main className="page__main">
      <div className="stack" role="alert">
        <h1>{t('This page couldn’t be shown')}</h1>
        <p className="muted">
          {t('Something went wrong. Everything you saved is safe. The browser’s console has the details.')}
        </p>
        <div className="button-row">
          <Button variant="primary" text="Reload" onClick={() => location.reload()} />
          <a className="button button--outline" href="/">
            {t('Go to the home page')}
          </a>
          {client.session.getSnapshot().token && <Button text="Log out" onClick={logOut} />}
        </div>
      </div>
    </main>
  )
}
