import { type RefObject, useEffect } from 'react'
import { useInstanceInfo } from './use-instance-info.ts'

/** Whether a key or a button was pressed since the document was loaded. `navigator.userActivation` outlives a load. */
let isUsed = false
for (const type of ['keydown', 'pointerdown']) {
  addEventListener(type, () => void (isUsed = true), { capture: true, once: true })
}

/**
 * Shows a new page from its top and with its `title` and the name of the instance. `target` takes the focus that was lost with the page before, so that
 * screen readers announce it; on the first page, where nobody did anything yet, the first Tab goes to the first link.
 */
export function useNewPage(target: RefObject<HTMLElement | null>, title: string): void {
  const { info } = useInstanceInfo()
  const name = info?.name ?? 'Gatehouse'
  useEffect(() => void (document.title = `${title} · ${name}`), [title, name])
  useEffect(() => {
    window.scrollTo(0, 0)
    if (isUsed && document.activeElement === document.body) target.current?.focus({ preventScroll: true })
  }, [target, title])
}
