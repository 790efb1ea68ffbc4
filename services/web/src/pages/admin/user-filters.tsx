import { Field, SelectField } from '../../components/field.tsx'

export type UserFilter = {
  q: string
  role: 'any' | 'admin' | 'non-admin'
  sort: 'newest' | 'oldest' | 'az' | 'za'
  showDeleted: boolean
}

export const noFilter: UserFilter = { q: '', role: 'any', sort: 'newest', showDeleted: false }

const roles = [
  ['any', 'All roles'],
  ['admin', 'Admins'],
  ['non-admin', 'Users'],
] as const

const sortOrders = [
  ['newest', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['az', 'Username, A to Z'],
  ['za', 'Username, Z to A'],
] as const

export function UserFilters({ filter, onChange }: { filter: UserFilter; onChange: (filter: UserFilter) => void }) {
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Field
        label="Search"
        type="search"
        placeholder="Name or username"
        autoComplete="off"
        value={filter.q}
        onChange={(event) => onChange({ ...filter, q: event.target.value })}
      />
      <SelectField label="Role" value={filter.role} options={roles} onPick={(role) => onChange({ ...filter, role })} />
      <SelectField
        label="Sort by"
        value={filter.sort}
        options={sortOrders}
        onPick={(sort) => onChange({ ...filter, sort })}
      />
      <label className="checkbox">
        <input
          type="checkbox"
          checked={filter.showDeleted}
          onChange={(event) => onChange({ ...filter, showDeleted: event.target.checked })}
        />
        Show deleted
      </label>
    </form>
  )
}
