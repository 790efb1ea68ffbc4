/** The id of the checkbox of a row. */
export const rowFieldOf = (id: string) => `registration-${id}`

/** `current`: the row with the focus. `anchor`: where a range with Shift begins. */
export type Selection = { ids: ReadonlySet<string>; current: string | null; anchor: string | null }

export const emptySelection: Selection = { ids: new Set(), current: null, anchor: null }

/** From the one to the other, in either order. Without one of them, the other alone. */
function rangeOf(order: readonly string[], from: string | null, to: string): string[] {
  const [start, end] = [from === null ? -1 : order.indexOf(from), order.indexOf(to)].sort((one, other) => one - other)
  if (end === undefined || end < 0) return []
  return order.slice(start === undefined || start < 0 ? end : start, end + 1)
}

/** Focus on `to`. With `isRange` all from the anchor to it are selected, in place of the range before. */
export function moveTo(order: readonly string[], selection: Selection, to: string, isRange = false): Selection {
  if (!isRange) return { ...selection, current: to, anchor: to }
  const { ids, current } = selection
  const anchor = selection.anchor ?? current ?? to
  const before = current === null ? [] : rangeOf(order, anchor, current)
  const remaining = [...ids].filter((id) => !before.includes(id))
  return { ids: new Set([...remaining, ...rangeOf(order, anchor, to)]), current: to, anchor }
}

export function toggle(selection: Selection, id: string): Selection {
  const ids = new Set(selection.ids)
  if (!ids.delete(id)) ids.add(id)
  return { ids, current: id, anchor: id }
}

/** All of them, or none where all are selected. */
export function toggleAll(selection: Selection, wanted: readonly string[]): Selection {
  const isOn = wanted.every((id) => selection.ids.has(id))
  const others = [...selection.ids].filter((id) => !wanted.includes(id))
  return { ...selection, ids: new Set(isOn ? others : [...others, ...wanted]) }
}

/** Where a key of the list leads. Null: it is none. */
export function findTarget(order: readonly string[], current: string | null, key: string): string | null {
  const at = current === null ? -1 : order.indexOf(current)
  const last = order.length - 1
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: Math.min(at + 1, last),
    ArrowUp: Math.max(at - 1, 0),
    Home: 0,
    End: last,
  }
  return order[steps[key] ?? -1] ?? null
}

/** The next row that stays when `gone` go, else the last one before. */
export function findNext(order: readonly string[], current: string | null, gone: ReadonlySet<string>): string | null {
  const at = current === null ? 0 : Math.max(order.indexOf(current), 0)
  const stays = (id: string) => !gone.has(id)
  return order.slice(at).find(stays) ?? order.slice(0, at).findLast(stays) ?? null
}

type Placed = { id: string; network: string; createdAt: number }
export type Group<Row> = { network: string; rows: Row[] }
export type Order = '' | 'oldest' | 'newest'

/** By network, the networks with the fewest first: people come alone. In the other orders each row stands alone. */
export function groupRows<Row extends Placed>(rows: readonly Row[], order: Order): Group<Row>[] {
  const sorted = [...rows].sort((one, other) => one.createdAt - other.createdAt)
  if (order === 'newest') sorted.reverse()
  if (order !== '') return sorted.map((row) => ({ network: row.network, rows: [row] }))
  const groups = new Map<string, Group<Row>>()
  for (const row of sorted) {
    const group = groups.get(row.network) ?? { network: row.network, rows: [] }
    group.rows.push(row)
    groups.set(row.network, group)
  }
  return [...groups.values()].sort((one, other) => one.rows.length - other.rows.length)
}
