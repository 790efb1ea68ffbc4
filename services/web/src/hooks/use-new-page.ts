import { type RefObject, useEffect } from 'react'

/**
 * Shows a new page from its top, with its `title` in the window's, and gives `target` the focus that the page before it had,
 * so that screen readers announce it. What has the focus on the new page keeps it.
 */
export function useNewPage(target: RefObject<HTMLElement | null>, title: string): void {
  useEffect(() => {
    document.title = `${title} · Gatehouse`
    window.scrollTo(0, 0)
    if (document.activeElement === document.body) target.current?.focus({ preventScroll: true })
  }, [target, title])
}
