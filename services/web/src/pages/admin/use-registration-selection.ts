import { type FocusEvent, useLayoutEffect, useRef, useState } from 'react'
import * as selections from './registration-selection.ts'

export type Act = 'approve' | 'deny' | 'block'
export type Queue = ReturnType<typeof useSelection>

/** Which rows are selected, and which has the focus: another admin may take it away. */
export function useSelection(ids: readonly string[]) {
  const [selection, setSelection] = useState(selections.emptySelection)
  const { hasFocus, focusRow, keepFocus, list, onDialogClose } = useListFocus()
  const last = useRef<{ ids: readonly string[]; current: string | null }>({ ids: [], current: null })
  const isThere = selection.current !== null && ids.includes(selection.current)
  const gone = new Set(last.current.ids.filter((id) => !ids.includes(id)))
  // Rows before it may have gone too.
  const nextThere = () => selections.findNext(last.current.ids, last.current.current, gone) ?? ids[0] ?? null
  const current = isThere ? selection.current : nextThere()
  const selected = ids.filter((id) => selection.ids.has(id))

  useLayoutEffect(() => {
    last.current = { ids, current }
    keepFocus(current)
  })
  const goTo = (to: string, isRange = false) => {
    setSelection((before) => selections.moveTo(ids, { ...before, current }, to, isRange))
    focusRow(to)
  }
  return {
    list,
    onDialogClose,
    current,
    selected,
    /** What a key is about. */
    chosen: selected.length > 0 ? selected : current === null ? [] : [current],
    move: (key: string, isRange: boolean): boolean => {
      const to = hasFocus.current ? selections.findTarget(ids, current, key) : null
      if (to !== null) goTo(to, isRange)
      return to !== null
    },
    leave: (gone: ReadonlySet<string>) => {
      const next = current !== null && gone.has(current) ? selections.findNext(ids, current, gone) : current
      setSelection((before) => ({
        ids: new Set([...before.ids].filter((id) => !gone.has(id))),
        current: next,
        anchor: next,
      }))
      if (hasFocus.current) focusRow(next)
    },
    select: (id: string, isRange: boolean) =>
      setSelection((before) => (isRange ? selections.moveTo(ids, before, id, true) : selections.toggle(before, id))),
    selectAll: () => {
      setSelection((before) => selections.toggleAll(before, ids))
      return true
    },
    toggleAll: (wanted: readonly string[]) => setSelection((before) => selections.toggleAll(before, wanted)),
    /** The focus came without a key of the list. */
    reach: (id: string) =>
      setSelection((before) => (before.current === id ? before : { ...before, current: id, anchor: id })),
    clear: () => setSelection((before) => ({ ...before, ids: new Set<string>() })),
  }
}

/** `list`: for the element around the rows. `keepFocus`: after each change of the page, with the row that is current. */
function useListFocus() {
  const ref = useRef<HTMLDivElement>(null)
  const hasFocus = useRef(false)
  const isDialogClosed = useRef(false)
  const focusRow = (id: string | null) => {
    // Without a row that waits, the keys that are left still work.
    const row = id === null ? null : ref.current?.querySelector<HTMLElement>(`#${selections.rowFieldOf(id)}`)
    ;(row ?? ref.current)?.focus()
  }
  return {
    hasFocus,
    focusRow,
    keepFocus: (current: string | null) => {
      const { activeElement, body } = document
      const isLost = activeElement === body || (isDialogClosed.current && !ref.current?.contains(activeElement))
      isDialogClosed.current = false
      if (hasFocus.current && isLost) focusRow(current)
    },
    /** The row from which the dialog was opened may be gone: the dialog gives the focus to the page then. */
    onDialogClose: () => (isDialogClosed.current = true),
    list: {
      ref,
      onFocus: () => (hasFocus.current = true),
      onBlur: ({ target, currentTarget }: FocusEvent<HTMLElement>) => {
        // An element that is removed may lose the focus in this event.
        setTimeout(() => {
          if (target.isConnected && !currentTarget.contains(document.activeElement)) hasFocus.current = false
        })
      },
    },
  }
}
