import type { Client } from '@gatehouse/client'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { Button } from '../../components/button.tsx'
import { Checkbox } from '../../components/choices.tsx'
import { controlOf, Field, Labelled } from '../../components/field.tsx'
import type { IconName } from '../../components/icon.tsx'
import { QueryList } from '../../components/query-list.tsx'
import { useQuery } from '../../hooks.ts'
import { type Text, t } from '../../language/language.ts'

/** The first option is the preset; the address leaves it out. The value of a flag is `true`. */
export type Filter = { name: string; label: Text } & (
  | { type: 'text'; placeholder?: Text }
  | { type: 'date' }
  | { type: 'flag' }
  | { type: 'select' | 'toggle'; options: Readonly<Record<string, string>> }
)

/** The filters that are set, and `cursor`. */
export type ListQuery = Readonly<Record<string, string>>
type Page<T> = { items: T[]; nextCursor: string | null; count?: string }

type Props<T> = {
  title: string
  filters?: readonly Filter[]
  fetchPage: (query: ListQuery, signal: AbortSignal, client: Client) => Promise<Page<T>>
  watched?: Parameters<typeof useQuery>[2]
  empty: (query: ListQuery) => string
  icon?: IconName
  className?: string
  toolbar?: (list: { items: T[]; refetch: () => void; query: ListQuery }) => ReactNode
  children?: (item: T, refetch: () => void) => ReactNode
  /** In place of the list of `children`. */
  show?: (items: T[], refetch: () => void, query: ListQuery) => ReactNode
}

const debounceMs = 250

/** A day is that of the person. Contract: 5, Days. */
const ownTimeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

/** A page of a list. Its filters and where it begins stand in the address, so that Back, a reload and a link keep them. */
export function AdminList<T>(props: Props<T>) {
  const { title, filters = [], fetchPage, icon = 'info', className = '', children, show } = props
  const { listQuery, isTurned, filter, turnTo } = useListAddress(filters)
  const { cursor } = listQuery
  const key = JSON.stringify([title, listQuery])
  const request = filters.some(({ type, name }) => type === 'date' && listQuery[name])
    ? { ...listQuery, tz: ownTimeZone() }
    : listQuery
  const fetchData = async (...context: [AbortSignal, Client]) => ({ key, ...(await fetchPage(request, ...context)) })
  const query = useQuery(key, fetchData, props.watched)
  const { refetch } = query
  const top = useRef<HTMLDivElement>(null)
  // The rows of the page before stay until there is an answer; after a failure they would belong to another address.
  const isOld = query.data?.key !== key
  const page = isOld && query.error ? null : query.data
  const next = page?.nextCursor
  const state = query.loading && (isOld || !page) ? t('Loading…') : page?.count
  const turn = (go: () => void) => {
    go()
    top.current?.scrollIntoView({ block: 'start' })
    top.current?.focus({ preventScroll: true })
  }
  const goBack = () => (isTurned ? history.back() : turnTo(null))
  return (
    <section className="stack" aria-label={title}>
      <h2 className="visually-hidden">{title}</h2>
      <Filters filters={filters} values={listQuery} onChange={filter} />
      <div ref={top} className="toolbar" tabIndex={-1} role="group" aria-label={title}>
        <p className="small muted" role="status" data-empty={!state}>
          {state}
        </p>
        {props.toolbar?.({ items: page?.items ?? [], refetch, query: listQuery })}
      </div>
      <QueryList
        query={{ ...query, loading: query.loading && isOld }}
        items={page?.items ?? null}
        empty={props.empty(listQuery)}
        icon={icon}
        rows={6}
        className={`card list ${className}`}
        show={show && ((items: T[]) => show(items, refetch, listQuery))}
      >
        {children && ((item: T) => children(item, refetch))}
      </QueryList>
      {(cursor ?? next) && (
        <nav className="pager" aria-label={t('Pagination')}>
          {cursor && <Button size="small" text={isTurned ? 'Previous' : 'First page'} onClick={() => turn(goBack)} />}
          {next && <Button size="small" busy={isOld} text="Next" onClick={() => turn(() => turnTo(next))} />}
        </nav>
      )}
    </section>
  )
}

type NavigateOptions = { replace?: boolean; state?: unknown }

/** `isTurned`: the entry before in the browser's history is the page before. */
function useListAddress(filters: readonly Filter[]) {
  const [pathname, navigate] = useLocation()
  const search = new URLSearchParams(useSearch())
  const names = [...filters.map(({ name }) => name), 'cursor']
  const filter = (changed: ListQuery, options?: NavigateOptions) => {
    const next = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries({ cursor: '', ...changed })) {
      if (value) next.set(name, value)
      else next.delete(name)
    }
    navigate(next.size > 0 ? `${pathname}?${next}` : pathname, options)
  }
  return {
    listQuery: Object.fromEntries([...search].filter(([name, value]) => names.includes(name) && value)) as ListQuery,
    isTurned: (history.state as { isTurned?: boolean } | null)?.isTurned === true,
    filter,
    turnTo: (cursor: string | null) => filter({ cursor: cursor ?? '' }, { state: { isTurned: cursor !== null } }),
  }
}

type Change = (changed: ListQuery, options?: NavigateOptions) => void

/** On phones all but the first are folded. */
function Filters({ filters, values, onChange }: { filters: readonly Filter[]; values: ListQuery; onChange: Change }) {
  const [isOpen, setOpen] = useState(false)
  const [first, ...more] = filters
  if (!first) return null
  const count = more.filter(({ name }) => values[name]).length
  const input = (filter: Filter) => (
    <FilterInput key={filter.name} filter={filter} value={values[filter.name] ?? ''} onChange={onChange} />
  )
  return (
    <form className="filters" role="search" data-open={isOpen} onSubmit={(event) => event.preventDefault()}>
      {input(first)}
      {more.length > 0 && (
        <Button
          className="filters__toggle"
          aria-expanded={isOpen}
          text={count > 0 ? 'Filters: {count}' : 'Filters'}
          values={{ count }}
          onClick={() => setOpen(!isOpen)}
        />
      )}
      {more.map(input)}
    </form>
  )
}

type InputProps = { filter: Filter; value: string; onChange: Change }

function FilterInput({ filter, value, onChange }: InputProps) {
  const { name } = filter
  const label = t(filter.label)
  const pick = (picked: string) => onChange({ [name]: picked })
  if (filter.type === 'text') return <TextInput filter={filter} value={value} onChange={onChange} />
  if (filter.type === 'flag') {
    return <Checkbox label={label} name={name} checked={value === 'true'} onChange={(on) => pick(on ? 'true' : '')} />
  }
  if (filter.type === 'date') return <Field label={label} name={name} type="date" value={value} onText={pick} />
  const options = Object.entries(filter.options)
  if (filter.type === 'select') {
    return (
      <Labelled label={label} name={name}>
        <select {...controlOf(name)} value={value} onChange={(event) => pick(event.target.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      </Labelled>
    )
  }
  return (
    <div className="button-row" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <Button
          key={option}
          size="small"
          className="toggle"
          aria-pressed={option === value}
          onClick={() => pick(option)}
        >
          {text}
        </Button>
      ))}
    </div>
  )
}

/** Not every key press changes the address. */
function TextInput({ filter, value, onChange }: InputProps & { filter: { type: 'text' } }) {
  const { name, label, placeholder } = filter
  const [typed, setTyped] = useState(value)
  const lastSent = useRef(value)
  useEffect(() => {
    // What was typed since it was sent stays, and so does a space at its end.
    if (value === lastSent.current) return
    lastSent.current = value
    setTyped(value)
  }, [value])
  useEffect(() => {
    const text = typed.trim()
    if (text === value) return
    const send = () => {
      lastSent.current = text
      onChange({ [name]: text }, { replace: true })
    }
    const timer = setTimeout(send, debounceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <Field
      label={t(label)}
      name={name}
      type="search"
      placeholder={placeholder && t(placeholder)}
      value={typed}
      onText={setTyped}
    />
  )
}
