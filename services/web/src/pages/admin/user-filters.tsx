import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'

export type UserFilter = {
  q: string
  role: 'any' | 'admin' | 'user'
  sort: 'username' | '-createdAt' | 'createdAt'
  showDeleted: boolean
}

export const everyone: UserFilter = { q: '', role: 'any', sort: '-createdAt', showDeleted: false }

const roles = [
  ['any', 'All roles'],
  ['admin', 'Admins'],
  ['user', 'Users'],
] as const

const sorts = [
  ['-createdAt', 'Newest first'],
  ['createdAt', 'Oldest first'],
  ['username', 'By name'],
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
      <SelectField label="Order" value={filter.sort} options={sorts} onPick={(sort) => onChange({ ...filter, sort })} />
      <label className="tick">
        <input
          type="checkbox"
          checked={filter.showDeleted}
          onChange={(event) => onChange({ ...filter, showDeleted: event.target.checked })}
        />
        Deleted too
      </label>
    </form>
  )
}
