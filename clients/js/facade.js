/**
 * The objects that do the work, by the objects that apps hold. What apps hold has what parley.d.ts declares and nothing else, and does not
 * lead to what does the work: the package does not export this map.
 *
 * @type {WeakMap<object, any>}
 */
export const internals = new WeakMap();

/**
 * Gives a class methods and properties that call those of the objects in `internals`.
 *
 * @param {Function} type
 * @param {string[]} methods
 * @param {string[]} properties
 */
export function forward(type, methods, properties) {
  for (const name of methods) {
    /** @this {object} */
    const value = function (...values) {
      return internals.get(this)[name](...values);
    };
    Object.defineProperty(type.prototype, name, { value, writable: true, configurable: true });
  }
  for (const name of properties) {
    /** @this {object} */
    const get = function () {
      return internals.get(this)[name];
    };
    Object.defineProperty(type.prototype, name, { get, configurable: true });
  }
}

/**
 * Returns the methods, which are methods of the core that apps call too. The function is for the checker of types: they must be as
 * parley.d.ts declares them, and `this` is the core.
 *
 * @template T
 * @param {T & Partial<import("./parley.js").Parley> & ThisType<import("./core.js").Core>} methods
 * @returns {T}
 */
export const ofParley = (methods) => methods;
