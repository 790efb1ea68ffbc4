import { type ComponentType, lazy, type ReactNode } from 'react'
import { t } from '../language/language.ts'
import { Button } from './button.tsx'
import { PageFrame } from './page-frame.tsx'
import { Notice } from './status.tsx'

/** Returns a component that is fetched when it is first shown. `Missing` replaces it if its file doesn't arrive. */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Missing: () => ReactNode = MissingPart,
) {
  // An uncaught error would replace the whole app.
  return lazy(async () => ({ default: await load().catch((): ComponentType<Props> => Missing) }))
}

/** Returns a whole page that is fetched when it is first shown. */
export const lazyPage = <Props extends object>(load: () => Promise<ComponentType<Props>>) => lazyPart(load, MissingPage)

/** Replaces a part that the rest of its page works without. */
export const showNothing = () => null

/** A reload fetches the names of the files too: a new release has other ones. */
function MissingPart() {
  return (
    <Notice tone="warning" text="This page couldn’t load. Check your connection and try again.">
      <Button size="small" icon="refresh" text="Try again" onClick={() => location.reload()} />
    </Notice>
  )
}

function MissingPage() {
  return (
    <PageFrame user={null} title={t('Loading…')}>
      <MissingPart />
    </PageFrame>
  )
}
